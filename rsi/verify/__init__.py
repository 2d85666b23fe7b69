"""Scores ended episodes: answers, files and programs. It must not know models, harnesses or stores."""
