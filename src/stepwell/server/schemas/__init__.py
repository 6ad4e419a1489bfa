"""What goes over the wire: request bodies that are checked, and models that only describe responses for OpenAPI.

Bodies ignore fields they do not know, because clients of other versions send more; a field they know must be right. Responses are
encoded from records by plain functions (`*_wire`), never through these models.
"""
