"""A model that follows a script: the other end of every agent program under test.

    program --HTTP--> server --body--> wire.read --> Asked
                                                       |   script.next_move
    program <--SSE--- server <--frames-- wire.* <---- Move

A *wire* (`anthropic`, `responses`, `gemini`, `chat`) turns a request into one neutral view of it, `Asked`, and a move
into the bytes of an answer. It knows nothing of scripts. The *script* (`script`) is a list of moves, and the model's
place in it is the number of its own turns that the program sends back: no state is kept, so that a request sent twice
gets the same answer twice, and one script drives a whole turn with all its tool calls. Only what the script lets happen
meanwhile (another agent sends mail) is remembered, so that it happens once. The *server* puts both together
and writes down every request, so that a test can ask what the model was told.

Always: only a request that offers tools moves the script on. The requests that programs make beside the conversation
(titles, summaries, token counts) get a bland answer, and are written down too.
"""
