"""The API's JSON: models that validate request bodies, and models that only describe responses for OpenAPI.

Bodies ignore unknown fields, because clients of other versions send more; known fields must be valid. Responses are
encoded from records by plain functions (`*_wire`), never through these models.
"""
