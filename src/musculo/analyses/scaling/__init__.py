"""A generic model made into a subject: scale factors, scaling, markers and sensors placed by a static pose."""
