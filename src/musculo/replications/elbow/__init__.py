"""Ruggiero2020: muscles and joint loads of an elbow that flexes."""
