"""Barman2020: motions that are predicted, of a manipulator with two revolute joints and one with a prismatic joint."""
