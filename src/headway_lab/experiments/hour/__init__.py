"""A long run in a small driver: does anything grow?"""
