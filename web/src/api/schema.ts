// Made by scripts/generate-api-types.mjs from the server's OpenAPI document. Do not edit.
export interface paths {
    "/threads/{thread_id}/runs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The thread's runs, newest first */
        get: operations["list_runs"];
        put?: never;
        /** Start a run and do not wait for it */
        post: operations["create_run"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/threads/{thread_id}/runs/stream": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Start a run and follow what it says */
        post: operations["stream_run"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/threads/{thread_id}/runs/wait": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Start a run and wait for its values */
        post: operations["wait_run"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/threads/{thread_id}/runs/{run_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get a run */
        get: operations["get_run"];
        put?: never;
        post?: never;
        /** Forget a run that has ended */
        delete: operations["delete_run"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/threads/{thread_id}/runs/{run_id}/join": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Wait for a run's values */
        get: operations["join_run"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/threads/{thread_id}/runs/{run_id}/stream": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Follow a run, from the start or after Last-Event-ID; a run that has ended is told again */
        get: operations["join_run_stream"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/threads/{thread_id}/runs/{run_id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Stop a run; 'rollback' also forgets what it did */
        post: operations["cancel_run"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/threads": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Create a thread */
        post: operations["create_thread"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/threads/search": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Find threads, those last used first; the header X-Pagination-Next tells where the next page begins */
        post: operations["search_threads"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/threads/count": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Count threads */
        post: operations["count_threads"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/threads/prune": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Delete threads, or all of their checkpoints but the latest */
        post: operations["prune_threads"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/threads/{thread_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get a thread */
        get: operations["get_thread"];
        put?: never;
        post?: never;
        /** Erase a thread and all that hangs on it */
        delete: operations["delete_thread"];
        options?: never;
        head?: never;
        /** Merge into a thread's metadata; 'Prefer: return=minimal' answers with nothing */
        patch: operations["update_thread"];
        trace?: never;
    };
    "/threads/{thread_id}/copy": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** A new thread with the same history */
        post: operations["copy_thread"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/threads/{thread_id}/state": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The thread's state now */
        get: operations["get_thread_state"];
        put?: never;
        /** Write to the thread's state, as if a node had */
        post: operations["update_thread_state"];
        delete?: never;
        options?: never;
        head?: never;
        /** Merge into the thread's metadata (an older form of PATCH /threads/{thread_id}) */
        patch: operations["patch_thread_state"];
        trace?: never;
    };
    "/threads/{thread_id}/state/checkpoint": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** The thread's state at a checkpoint, also of a subgraph */
        post: operations["get_thread_state_at"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/threads/{thread_id}/state/{checkpoint_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The thread's state at a checkpoint of the root graph */
        get: operations["get_thread_state_at_id"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/threads/{thread_id}/history": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The thread's checkpoints, newest first */
        get: operations["get_thread_history"];
        put?: never;
        /** The thread's checkpoints that fit, newest first */
        post: operations["search_thread_history"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/threads/{thread_id}/stream": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What all runs of the thread say, as they say it; Last-Event-ID goes back */
        get: operations["stream_thread"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/threads/{thread_id}/commands": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Tell a thread what to do: start a run, answer a question, read or branch its state */
        post: operations["send_thread_command"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/threads/{thread_id}/stream/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Where SDKs would open a websocket, which this server does not offer */
        get: operations["stream_thread_events_by_websocket"];
        put?: never;
        /** What the runs of a thread say, filtered; from the newest run on, or after 'since' */
        post: operations["stream_thread_events"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/runs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Start a run on a thread of its own */
        post: operations["create_stateless_run"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/runs/stream": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** The same, and follow what it says */
        post: operations["stream_stateless_run"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/runs/wait": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** The same, and wait for its values */
        post: operations["wait_stateless_run"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/runs/batch": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Start several runs at once: all of them or none */
        post: operations["create_run_batch"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/runs/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Stop several runs: those named, or all of a status */
        post: operations["cancel_runs"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/assistants": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Create an assistant */
        post: operations["create_assistant"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/assistants/search": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Find assistants; the header X-Pagination-Next tells where the next page begins */
        post: operations["search_assistants"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/assistants/count": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Count assistants */
        post: operations["count_assistants"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/assistants/{assistant_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get an assistant by its id or the name of its graph */
        get: operations["get_assistant"];
        put?: never;
        post?: never;
        /** Delete an assistant and its versions */
        delete: operations["delete_assistant"];
        options?: never;
        head?: never;
        /** Change an assistant; the result is a new version */
        patch: operations["update_assistant"];
        trace?: never;
    };
    "/assistants/{assistant_id}/versions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** List an assistant's versions, newest first */
        post: operations["list_assistant_versions"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/assistants/{assistant_id}/latest": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Make a version the current one */
        post: operations["set_latest_assistant_version"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/assistants/{assistant_id}/schemas": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** JSON Schemas of the assistant's graph */
        get: operations["get_assistant_schemas"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/assistants/{assistant_id}/graph": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Nodes and edges of the assistant's graph; xray draws subgraphs too */
        get: operations["get_assistant_graph"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/assistants/{assistant_id}/subgraphs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** JSON Schemas of the graph's subgraphs */
        get: operations["get_assistant_subgraphs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/assistants/{assistant_id}/subgraphs/{namespace}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** JSON Schemas of one subgraph */
        get: operations["get_assistant_subgraph"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/store/items": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get an item; null if there is none */
        get: operations["get_item"];
        /** Keep an item, in place of what was there */
        put: operations["put_item"];
        post?: never;
        /** Forget an item */
        delete: operations["delete_item"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/store/items/search": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Find items under a namespace */
        post: operations["search_items"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/store/namespaces": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Namespaces that hold something */
        post: operations["list_namespaces"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/model/load": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Load the embedded model and follow it */
        get: operations["load_model"];
        put?: never;
        /** The same by POST */
        post: operations["load_model_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/research": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Research a question and follow it */
        post: operations["research"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/research/approve": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Answer what a research waits for, and follow it */
        post: operations["approve_research"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/research/{threadId}/stream": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Follow a thread's newest question, from its start or after Last-Event-ID; one that has ended is told again */
        get: operations["join_research"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/research/{threadId}/bundle": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Everything a thread's research rests on, as one file for `stepwell verify` */
        get: operations["research_bundle"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/usage": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What your runs used of models, and what that cost */
        get: operations["get_usage"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/usage/all": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The same over all users, for operators */
        get: operations["get_usage_of_all"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/export": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Everything that belongs to you, as JSON lines */
        get: operations["export_data"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/effects": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What tools began on your threads, and nobody knows whether it happened */
        get: operations["list_effects"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/effects/all": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The same over all users and deleted threads, for operators */
        get: operations["list_effects_of_all"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/effects/settle": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Say whether it happened; the model is told when the thread goes on, if the call still stands in its conversation */
        post: operations["settle_effect"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/effects/all/settle": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** The same for anybody's, for operators */
        post: operations["settle_effect_of_all"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/ok": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Is the server well? check_db=1 asks the database too */
        get: operations["get_ok"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/info": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Versions, and what clients may count on */
        get: operations["get_info"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Counters in the text format of Prometheus */
        get: operations["get_metrics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /**
         * AssistantAnswer
         * @description A graph with a configuration.
         */
        AssistantAnswer: {
            /** Assistant Id */
            assistant_id?: string;
            /** Graph Id */
            graph_id?: string;
            /** Name */
            name?: string;
            /** Description */
            description?: string | null;
            /** Config */
            config?: {
                [key: string]: unknown;
            };
            /** Context */
            context?: {
                [key: string]: unknown;
            };
            /** Metadata */
            metadata?: {
                [key: string]: unknown;
            };
            /** Version */
            version?: number;
            /**
             * Created At
             * Format: date-time
             */
            created_at?: string;
            /**
             * Updated At
             * Format: date-time
             */
            updated_at?: string;
        };
        /** AssistantCount */
        AssistantCount: {
            /** Metadata */
            metadata?: {
                [key: string]: unknown;
            } | null;
            /** Graph Id */
            graph_id?: string | null;
            /** Name */
            name?: string | null;
        };
        /** AssistantCreate */
        AssistantCreate: {
            /** Graph Id */
            graph_id: string;
            /** Assistant Id */
            assistant_id?: string | null;
            config?: components["schemas"]["RunConfig"] | null;
            /** Context */
            context?: {
                [key: string]: unknown;
            } | null;
            /** Metadata */
            metadata?: {
                [key: string]: unknown;
            } | null;
            /** If Exists */
            if_exists?: ("raise" | "do_nothing") | null;
            /** Name */
            name?: string | null;
            /** Description */
            description?: string | null;
        };
        /** AssistantPatch */
        AssistantPatch: {
            /** Graph Id */
            graph_id?: string | null;
            config?: components["schemas"]["RunConfig"] | null;
            /** Context */
            context?: {
                [key: string]: unknown;
            } | null;
            /** Metadata */
            metadata?: {
                [key: string]: unknown;
            } | null;
            /** Name */
            name?: string | null;
            /** Description */
            description?: string | null;
        };
        /** AssistantSearch */
        AssistantSearch: {
            /** Metadata */
            metadata?: {
                [key: string]: unknown;
            } | null;
            /** Graph Id */
            graph_id?: string | null;
            /** Name */
            name?: string | null;
            /** Limit */
            limit?: number | null;
            /** Offset */
            offset?: number | null;
            /** Sort By */
            sort_by?: ("assistant_id" | "graph_id" | "name" | "created_at" | "updated_at") | null;
            /** Sort Order */
            sort_order?: ("asc" | "desc") | null;
            /** Select */
            select?: ("assistant_id" | "graph_id" | "name" | "description" | "config" | "context" | "created_at" | "updated_at" | "metadata" | "version")[] | null;
        };
        /**
         * BatchRun
         * @description One of several runs; without a thread it is a stateless one.
         */
        BatchRun: {
            /** Assistant Id */
            assistant_id: string;
            /** Input */
            input?: unknown;
            command?: components["schemas"]["RunCommand"] | null;
            config?: components["schemas"]["RunConfig"] | null;
            /** Context */
            context?: {
                [key: string]: unknown;
            } | null;
            /** Metadata */
            metadata?: {
                [key: string]: unknown;
            } | null;
            checkpoint?: components["schemas"]["CheckpointRef"] | null;
            /** Checkpoint Id */
            checkpoint_id?: string | null;
            /** Stream Mode */
            stream_mode?: ("values" | "messages" | "messages-tuple" | "updates" | "events" | "tasks" | "checkpoints" | "debug" | "custom" | "tools" | "lifecycle") | ("values" | "messages" | "messages-tuple" | "updates" | "events" | "tasks" | "checkpoints" | "debug" | "custom" | "tools" | "lifecycle")[] | null;
            /** Stream Subgraphs */
            stream_subgraphs?: boolean | null;
            /** Stream Resumable */
            stream_resumable?: boolean | null;
            /** Interrupt Before */
            interrupt_before?: "*" | string[] | null;
            /** Interrupt After */
            interrupt_after?: "*" | string[] | null;
            /** Webhook */
            webhook?: string | null;
            /** Multitask Strategy */
            multitask_strategy?: ("reject" | "enqueue" | "interrupt" | "rollback") | null;
            /** If Not Exists */
            if_not_exists?: ("create" | "reject") | null;
            /** On Disconnect */
            on_disconnect?: ("cancel" | "continue") | null;
            /** On Completion */
            on_completion?: ("delete" | "keep") | null;
            /** After Seconds */
            after_seconds?: number | null;
            /** Durability */
            durability?: ("sync" | "async" | "exit") | null;
            /**
             * Checkpoint During
             * @deprecated
             */
            checkpoint_during?: boolean | null;
            /** Strict Resume */
            strict_resume?: boolean | null;
            /** Thread Id */
            thread_id?: string | null;
        };
        /**
         * Before
         * @description A checkpoint, also in the form of a LangGraph config, as older clients send it.
         */
        Before: {
            /** Thread Id */
            thread_id?: string | null;
            /** Checkpoint Ns */
            checkpoint_ns?: string | null;
            /** Checkpoint Id */
            checkpoint_id?: string | null;
            /** Checkpoint Map */
            checkpoint_map?: {
                [key: string]: unknown;
            } | null;
            configurable?: components["schemas"]["CheckpointRef"] | null;
        };
        /**
         * CancelMany
         * @description Which runs to stop: by id, or all of a status.
         */
        CancelMany: {
            /** Thread Id */
            thread_id?: string | null;
            /** Run Ids */
            run_ids?: string[] | null;
            /** Status */
            status?: ("pending" | "running" | "all") | null;
        };
        /**
         * CheckpointRef
         * @description A moment of a thread. A missing `checkpoint_id` means the newest of the namespace.
         */
        CheckpointRef: {
            /** Thread Id */
            thread_id?: string | null;
            /** Checkpoint Ns */
            checkpoint_ns?: string | null;
            /** Checkpoint Id */
            checkpoint_id?: string | null;
            /** Checkpoint Map */
            checkpoint_map?: {
                [key: string]: unknown;
            } | null;
        };
        /**
         * CommandAnswer
         * @description What became of a command: `success` with a result, or `error` with a code and a sentence.
         */
        CommandAnswer: {
            /**
             * Type
             * @enum {string}
             */
            type?: "success" | "error";
            /** Id */
            id?: number;
            /** Result */
            result?: {
                [key: string]: unknown;
            };
            /** Error */
            error?: string;
            /** Message */
            message?: string;
            /** Meta */
            meta?: {
                [key: string]: unknown;
            };
        };
        /**
         * EffectAnswer
         * @description One effect. `thread_id`, `run_id` and `owner` are null when its thread was deleted.
         */
        EffectAnswer: {
            /** Key */
            key: string;
            /** Tool */
            tool: string;
            /**
             * Outcome
             * @enum {string}
             */
            outcome: "unknown" | "under_way" | "done" | "not_done";
            /** Begun At */
            begun_at: string;
            /** Thread Id */
            thread_id: string | null;
            /** Run Id */
            run_id: string | null;
            /** Owner */
            owner: string | null;
            /**
             * Taken Back
             * @description Its run was rolled back with everything it said: no thread tells of it
             */
            taken_back: boolean;
            /** Note */
            note: string | null;
            /** Settled At */
            settled_at: string | null;
            /** Settled By */
            settled_by: string | null;
        };
        /**
         * EffectSettle
         * @description What somebody has found out about an effect whose outcome is unknown.
         */
        EffectSettle: {
            /** Key */
            key: string;
            /**
             * Outcome
             * @enum {string}
             */
            outcome: "done" | "not_done";
            /**
             * Note
             * @description The model is told: a receipt's number, a result
             * @default
             */
            note: string;
        };
        /**
         * EventsQuery
         * @description Which events are wanted, and after which place.
         */
        EventsQuery: {
            /** Channels */
            channels: string[];
            /** Namespaces */
            namespaces?: string[][] | null;
            /** Depth */
            depth?: number | null;
            /** Since */
            since?: number | null;
        };
        /**
         * GraphSchemas
         * @description JSON Schemas of a graph; `null` where none can be made.
         */
        GraphSchemas: {
            /** Graph Id */
            graph_id: string;
            /** Input Schema */
            input_schema: {
                [key: string]: unknown;
            } | null;
            /** Output Schema */
            output_schema: {
                [key: string]: unknown;
            } | null;
            /** State Schema */
            state_schema: {
                [key: string]: unknown;
            } | null;
            /** Config Schema */
            config_schema: {
                [key: string]: unknown;
            } | null;
            /** Context Schema */
            context_schema: {
                [key: string]: unknown;
            } | null;
        };
        /** HistoryQuery */
        HistoryQuery: {
            /** Limit */
            limit?: number | null;
            /** Before */
            before?: string | components["schemas"]["Before"] | null;
            /** Metadata */
            metadata?: {
                [key: string]: unknown;
            } | null;
            checkpoint?: components["schemas"]["CheckpointRef"] | null;
            /** Select */
            select?: string[] | null;
        };
        /**
         * Info
         * @description Versions and flags.
         */
        Info: {
            /** Version */
            version: string;
            /** Langgraph Py Version */
            langgraph_py_version: string;
            /** Flags */
            flags: {
                [key: string]: boolean;
            };
            /** Metadata */
            metadata: {
                [key: string]: string;
            };
        };
        /**
         * ItemAnswer
         * @description Something kept under a namespace and a key.
         */
        ItemAnswer: {
            /** Namespace */
            namespace: string[];
            /** Key */
            key: string;
            /** Value */
            value: {
                [key: string]: unknown;
            };
            /**
             * Created At
             * Format: date-time
             */
            created_at: string;
            /**
             * Updated At
             * Format: date-time
             */
            updated_at: string;
            /** Score */
            score?: number | null;
        };
        /** ItemDelete */
        ItemDelete: {
            /** Namespace */
            namespace: string[];
            /** Key */
            key: string;
        };
        /** ItemPut */
        ItemPut: {
            /** Namespace */
            namespace: string[];
            /** Key */
            key: string;
            /** Value */
            value: {
                [key: string]: unknown;
            };
            /** Index */
            index?: false | string[] | null;
            /** Ttl */
            ttl?: number | null;
        };
        /** ItemSearch */
        ItemSearch: {
            /** Namespace Prefix */
            namespace_prefix: string[];
            /** Filter */
            filter?: {
                [key: string]: unknown;
            } | null;
            /** Limit */
            limit?: number | null;
            /** Offset */
            offset?: number | null;
            /** Query */
            query?: string | null;
            /** Refresh Ttl */
            refresh_ttl?: boolean | null;
        };
        /**
         * ItemsAnswer
         * @description What a search found.
         */
        ItemsAnswer: {
            /** Items */
            items: components["schemas"]["ItemAnswer"][];
        };
        /** NamespaceQuery */
        NamespaceQuery: {
            /** Prefix */
            prefix?: string[] | null;
            /** Suffix */
            suffix?: string[] | null;
            /** Max Depth */
            max_depth?: number | null;
            /** Limit */
            limit?: number | null;
            /** Offset */
            offset?: number | null;
        };
        /**
         * NamespacesAnswer
         * @description Namespaces that hold something.
         */
        NamespacesAnswer: {
            /** Namespaces */
            namespaces: string[][];
        };
        /** Ok */
        Ok: {
            /** Ok */
            ok: boolean;
        };
        /**
         * Pruned
         * @description How many threads were pruned.
         */
        Pruned: {
            /** Pruned Count */
            pruned_count: number;
        };
        /**
         * ResearchAnswer
         * @description What a person says: `decision` about a plan (`approved` is the older form), `admit` and `deny` about sources.
         *
         *     `interruptId` says which question is meant; without it, the one that is open.
         */
        ResearchAnswer: {
            /**
             * Threadid
             * Format: uuid
             */
            threadId: string;
            /** Interruptid */
            interruptId?: string | null;
            /** Decision */
            decision?: ("approve" | "edit" | "reject") | null;
            /** Approved */
            approved?: boolean | null;
            /** Plan */
            plan?: {
                [key: string]: unknown;
            } | null;
            /** Reason */
            reason?: string | null;
            /** Stop */
            stop?: boolean | null;
            /** Admit */
            admit?: string[] | null;
            /** Deny */
            deny?: string[] | null;
        };
        /**
         * ResearchQuestion
         * @description A question, with what the caller knows already. A newer question on a thread stops the one under way there.
         */
        ResearchQuestion: {
            /** Query */
            query: string;
            /** Retrievedcontext */
            retrievedContext?: string | null;
            /** Contexturls */
            contextUrls?: string[] | null;
            /** Threadid */
            threadId?: string | null;
            /** Maxplanrevisions */
            maxPlanRevisions?: number | null;
            /** Reviewsources */
            reviewSources?: boolean | null;
        };
        /**
         * RunAnswer
         * @description One drive through a graph.
         */
        RunAnswer: {
            /** Run Id */
            run_id?: string;
            /** Thread Id */
            thread_id?: string;
            /** Assistant Id */
            assistant_id?: string;
            /**
             * Created At
             * Format: date-time
             */
            created_at?: string;
            /**
             * Updated At
             * Format: date-time
             */
            updated_at?: string;
            /**
             * Status
             * @enum {string}
             */
            status?: "pending" | "running" | "success" | "error" | "timeout" | "interrupted";
            /** Metadata */
            metadata?: {
                [key: string]: unknown;
            };
            /** Kwargs */
            kwargs?: {
                [key: string]: unknown;
            };
            /**
             * Multitask Strategy
             * @enum {string}
             */
            multitask_strategy?: "reject" | "enqueue" | "interrupt" | "rollback";
            /** Cancel Reason */
            cancel_reason?: string | null;
        };
        /**
         * RunCommand
         * @description LangGraph's command: answer questions, write to the state, go somewhere.
         */
        RunCommand: {
            /** Resume */
            resume?: unknown;
            /** Update */
            update?: {
                [key: string]: unknown;
            } | unknown[] | null;
            /** Goto */
            goto?: string | components["schemas"]["SendTo"] | (string | components["schemas"]["SendTo"])[] | null;
        };
        /**
         * RunConfig
         * @description LangGraph's config. What is not named here is kept with an assistant, and means nothing to a run.
         */
        RunConfig: {
            /** Tags */
            tags?: string[] | null;
            /** Recursion Limit */
            recursion_limit?: number | null;
            /** Max Concurrency */
            max_concurrency?: number | null;
            /** Run Name */
            run_name?: string | null;
            /** Metadata */
            metadata?: {
                [key: string]: unknown;
            } | null;
            /** Configurable */
            configurable?: {
                [key: string]: unknown;
            } | null;
        } & {
            [key: string]: unknown;
        };
        /**
         * RunCreate
         * @description A run that is asked for. `null` means the same as leaving a field out.
         */
        RunCreate: {
            /** Assistant Id */
            assistant_id: string;
            /** Input */
            input?: unknown;
            command?: components["schemas"]["RunCommand"] | null;
            config?: components["schemas"]["RunConfig"] | null;
            /** Context */
            context?: {
                [key: string]: unknown;
            } | null;
            /** Metadata */
            metadata?: {
                [key: string]: unknown;
            } | null;
            checkpoint?: components["schemas"]["CheckpointRef"] | null;
            /** Checkpoint Id */
            checkpoint_id?: string | null;
            /** Stream Mode */
            stream_mode?: ("values" | "messages" | "messages-tuple" | "updates" | "events" | "tasks" | "checkpoints" | "debug" | "custom" | "tools" | "lifecycle") | ("values" | "messages" | "messages-tuple" | "updates" | "events" | "tasks" | "checkpoints" | "debug" | "custom" | "tools" | "lifecycle")[] | null;
            /** Stream Subgraphs */
            stream_subgraphs?: boolean | null;
            /** Stream Resumable */
            stream_resumable?: boolean | null;
            /** Interrupt Before */
            interrupt_before?: "*" | string[] | null;
            /** Interrupt After */
            interrupt_after?: "*" | string[] | null;
            /** Webhook */
            webhook?: string | null;
            /** Multitask Strategy */
            multitask_strategy?: ("reject" | "enqueue" | "interrupt" | "rollback") | null;
            /** If Not Exists */
            if_not_exists?: ("create" | "reject") | null;
            /** On Disconnect */
            on_disconnect?: ("cancel" | "continue") | null;
            /** On Completion */
            on_completion?: ("delete" | "keep") | null;
            /** After Seconds */
            after_seconds?: number | null;
            /** Durability */
            durability?: ("sync" | "async" | "exit") | null;
            /**
             * Checkpoint During
             * @deprecated
             */
            checkpoint_during?: boolean | null;
            /** Strict Resume */
            strict_resume?: boolean | null;
        };
        /**
         * SendTo
         * @description A node to go to, with an input of its own.
         */
        SendTo: {
            /** Node */
            node: string;
            /** Input */
            input?: unknown;
        };
        /**
         * StateAnswer
         * @description A thread at one of its checkpoints.
         */
        StateAnswer: {
            /** Values */
            values?: {
                [key: string]: unknown;
            } | unknown[];
            /** Next */
            next?: string[];
            /** Checkpoint */
            checkpoint?: {
                [key: string]: unknown;
            } | null;
            /** Metadata */
            metadata?: {
                [key: string]: unknown;
            } | null;
            /** Created At */
            created_at?: string | null;
            /** Parent Checkpoint */
            parent_checkpoint?: {
                [key: string]: unknown;
            } | null;
            /** Tasks */
            tasks?: {
                [key: string]: unknown;
            }[];
            /** Interrupts */
            interrupts?: {
                [key: string]: unknown;
            }[];
        };
        /** StateAt */
        StateAt: {
            checkpoint: components["schemas"]["CheckpointRef"];
            /** Subgraphs */
            subgraphs?: boolean | null;
            /** Select */
            select?: string[] | null;
        };
        /** StatePatch */
        StatePatch: {
            /** Metadata */
            metadata?: {
                [key: string]: unknown;
            } | null;
        };
        /**
         * StateUpdate
         * @description One write of a superstep.
         */
        StateUpdate: {
            /** Values */
            values?: {
                [key: string]: unknown;
            } | unknown[] | null;
            /** Command */
            command?: {
                [key: string]: unknown;
            } | null;
            /** As Node */
            as_node: string;
        };
        /** StateWrite */
        StateWrite: {
            /** Values */
            values?: {
                [key: string]: unknown;
            } | unknown[] | null;
            /** As Node */
            as_node?: string | null;
            checkpoint?: components["schemas"]["CheckpointRef"] | null;
            /** Checkpoint Id */
            checkpoint_id?: string | null;
        };
        /**
         * StateWritten
         * @description The checkpoint that a write made.
         */
        StateWritten: {
            /** Checkpoint */
            checkpoint: {
                [key: string]: unknown;
            };
        };
        /** Superstep */
        Superstep: {
            /** Updates */
            updates: components["schemas"]["StateUpdate"][];
        };
        /**
         * ThreadAnswer
         * @description A conversation; `interrupts` are the open questions, by the task that asks.
         */
        ThreadAnswer: {
            /** Thread Id */
            thread_id?: string;
            /**
             * Created At
             * Format: date-time
             */
            created_at?: string;
            /**
             * Updated At
             * Format: date-time
             */
            updated_at?: string;
            /** State Updated At */
            state_updated_at?: string | null;
            /**
             * Status
             * @enum {string}
             */
            status?: "idle" | "busy" | "interrupted" | "error";
            /** Metadata */
            metadata?: {
                [key: string]: unknown;
            };
            /** Config */
            config?: {
                [key: string]: unknown;
            };
            /** Values */
            values?: {
                [key: string]: unknown;
            } | null;
            /** Interrupts */
            interrupts?: {
                [key: string]: {
                    [key: string]: unknown;
                }[];
            };
            /** Error */
            error?: {
                [key: string]: unknown;
            } | null;
            /** Extracted */
            extracted?: {
                [key: string]: unknown;
            };
        };
        /**
         * ThreadCommand
         * @description Something to do with a thread. What `params` must hold depends on the method.
         */
        ThreadCommand: {
            /** Id */
            id: number;
            /** Method */
            method: string;
            /** Params */
            params?: {
                [key: string]: unknown;
            } | null;
        };
        /** ThreadCount */
        ThreadCount: {
            /** Metadata */
            metadata?: {
                [key: string]: unknown;
            } | null;
            /** Values */
            values?: {
                [key: string]: unknown;
            } | null;
            /** Status */
            status?: ("idle" | "busy" | "interrupted" | "error") | null;
        };
        /** ThreadCreate */
        ThreadCreate: {
            /** Thread Id */
            thread_id?: string | null;
            /** Metadata */
            metadata?: {
                [key: string]: unknown;
            } | null;
            /** If Exists */
            if_exists?: ("raise" | "do_nothing") | null;
            /** Supersteps */
            supersteps?: components["schemas"]["Superstep"][] | null;
            /** Graph Id */
            graph_id?: string | null;
        };
        /** ThreadPatch */
        ThreadPatch: {
            /** Metadata */
            metadata?: {
                [key: string]: unknown;
            } | null;
        };
        /** ThreadPrune */
        ThreadPrune: {
            /** Thread Ids */
            thread_ids: string[];
            /** Strategy */
            strategy?: ("delete" | "keep_latest") | null;
        };
        /** ThreadSearch */
        ThreadSearch: {
            /** Metadata */
            metadata?: {
                [key: string]: unknown;
            } | null;
            /** Values */
            values?: {
                [key: string]: unknown;
            } | null;
            /** Status */
            status?: ("idle" | "busy" | "interrupted" | "error") | null;
            /** Ids */
            ids?: string[] | null;
            /** Limit */
            limit?: number | null;
            /** Offset */
            offset?: number | null;
            /** Sort By */
            sort_by?: ("thread_id" | "status" | "created_at" | "updated_at" | "state_updated_at") | null;
            /** Sort Order */
            sort_order?: ("asc" | "desc") | null;
            /** Select */
            select?: ("thread_id" | "created_at" | "updated_at" | "state_updated_at" | "metadata" | "config" | "context" | "status" | "values" | "interrupts" | "error")[] | null;
            /** Extract */
            extract?: {
                [key: string]: string;
            } | null;
        };
        /**
         * UsageAnswer
         * @description A sum of usage of one model; `key` is what it was grouped by. `cost_usd` is null where no price is known.
         */
        UsageAnswer: {
            /** Key */
            key: string;
            /** Runs */
            runs: number;
            /** Model */
            model: string;
            /** Calls */
            calls: number;
            /** Input Tokens */
            input_tokens: number;
            /** Output Tokens */
            output_tokens: number;
            /** Cost Usd */
            cost_usd: number | null;
            /**
             * Unpriced Runs
             * @description Runs whose price nobody knows: the cost is that of the others
             */
            unpriced_runs: number;
        };
        /** VersionChoice */
        VersionChoice: {
            /** Version */
            version: number;
        };
        /** VersionsQuery */
        VersionsQuery: {
            /** Metadata */
            metadata?: {
                [key: string]: unknown;
            } | null;
            /** Limit */
            limit?: number | null;
            /** Offset */
            offset?: number | null;
        };
        /**
         * Problem
         * @description RFC 9457: what is wrong, in `detail`, with the way out.
         */
        Problem: {
            /**
             * Type
             * @description Names the sort of problem; a URN
             */
            type: string;
            /** Title */
            title: string;
            /** Status */
            status: number;
            /** Detail */
            detail: string;
            /**
             * Instance
             * @default null
             */
            instance: string | null;
            /**
             * Errors
             * @description Fields that are wrong: `{field, message}`
             * @default null
             */
            errors: {
                [key: string]: unknown;
            }[] | null;
            /**
             * Interrupt Ids
             * @description Questions that are concerned
             * @default null
             */
            interrupt_ids: string[] | null;
            /**
             * Reference
             * @description Under which the operator finds the cause in the log
             * @default null
             */
            reference: string | null;
        };
    };
    responses: {
        /** @description The body is not JSON */
        Problem400: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description Who asks is not known */
        Problem401: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description Not allowed */
        Problem403: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description There is no such thing */
        Problem404: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description It stands against what is there */
        Problem409: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The body is too big */
        Problem413: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The body does not say that it is JSON */
        Problem415: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description A field is wrong, or the request cannot be carried out */
        Problem422: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description As many as allowed */
        Problem429: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description Not now; Retry-After says when */
        Problem503: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
    };
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    list_runs: {
        parameters: {
            query?: {
                limit?: number;
                offset?: number;
                status?: ("pending" | "running" | "success" | "error" | "timeout" | "interrupted") | null;
                select?: ("run_id" | "thread_id" | "assistant_id" | "created_at" | "updated_at" | "status" | "metadata" | "kwargs" | "multitask_strategy" | "cancel_reason")[] | null;
            };
            header?: never;
            path: {
                thread_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunAnswer"][];
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    create_run: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                thread_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RunCreate"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunAnswer"];
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            415: components["responses"]["Problem415"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    stream_run: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                thread_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RunCreate"];
            };
        };
        responses: {
            /** @description Server-sent events */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                    "text/event-stream": unknown;
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            415: components["responses"]["Problem415"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    wait_run: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                thread_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RunCreate"];
            };
        };
        responses: {
            /** @description The graph's values at the end; a run that failed gives `{'__error__': {error, message}}` */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            415: components["responses"]["Problem415"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    get_run: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                thread_id: string;
                run_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunAnswer"];
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    delete_run: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                thread_id: string;
                run_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    join_run: {
        parameters: {
            query?: {
                cancel_on_disconnect?: boolean;
            };
            header?: never;
            path: {
                thread_id: string;
                run_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The graph's values at the end; a run that failed gives `{'__error__': {error, message}}` */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    join_run_stream: {
        parameters: {
            query?: {
                cancel_on_disconnect?: boolean;
                stream_mode?: ("values" | "messages" | "messages-tuple" | "updates" | "events" | "tasks" | "checkpoints" | "debug" | "custom" | "tools" | "lifecycle")[] | null;
            };
            header?: {
                "last-event-id"?: string | null;
            };
            path: {
                thread_id: string;
                run_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Server-sent events */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                    "text/event-stream": unknown;
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    cancel_run: {
        parameters: {
            query?: {
                wait?: boolean;
                action?: "interrupt" | "rollback";
            };
            header?: never;
            path: {
                thread_id: string;
                run_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The run is told to stop */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The run has ended */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    create_thread: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ThreadCreate"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ThreadAnswer"];
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            415: components["responses"]["Problem415"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    search_threads: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ThreadSearch"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ThreadAnswer"][];
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            415: components["responses"]["Problem415"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    count_threads: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ThreadCount"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": number;
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            415: components["responses"]["Problem415"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    prune_threads: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ThreadPrune"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Pruned"];
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            415: components["responses"]["Problem415"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    get_thread: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                thread_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ThreadAnswer"];
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    delete_thread: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                thread_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    update_thread: {
        parameters: {
            query?: never;
            header?: {
                prefer?: string;
            };
            path: {
                thread_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ThreadPatch"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ThreadAnswer"];
                };
            };
            /** @description Done; nothing was asked for */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            415: components["responses"]["Problem415"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    copy_thread: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                thread_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ThreadAnswer"];
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    get_thread_state: {
        parameters: {
            query?: {
                subgraphs?: boolean;
                select?: string[] | null;
            };
            header?: never;
            path: {
                thread_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StateAnswer"];
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    update_thread_state: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                thread_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["StateWrite"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StateWritten"];
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            415: components["responses"]["Problem415"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    patch_thread_state: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                thread_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["StatePatch"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ThreadAnswer"];
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            415: components["responses"]["Problem415"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    get_thread_state_at: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                thread_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["StateAt"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StateAnswer"];
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            415: components["responses"]["Problem415"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    get_thread_state_at_id: {
        parameters: {
            query?: {
                subgraphs?: boolean;
                select?: string[] | null;
            };
            header?: never;
            path: {
                thread_id: string;
                checkpoint_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StateAnswer"];
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    get_thread_history: {
        parameters: {
            query?: {
                limit?: number;
                before?: string | null;
            };
            header?: never;
            path: {
                thread_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StateAnswer"][];
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    search_thread_history: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                thread_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["HistoryQuery"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StateAnswer"][];
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            415: components["responses"]["Problem415"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    stream_thread: {
        parameters: {
            query?: {
                stream_mode?: ("run_modes" | "lifecycle" | "state_update")[] | null;
            };
            header?: {
                "last-event-id"?: string | null;
            };
            path: {
                thread_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Server-sent events */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                    "text/event-stream": unknown;
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    send_thread_command: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                thread_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ThreadCommand"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CommandAnswer"];
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            415: components["responses"]["Problem415"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    stream_thread_events_by_websocket: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                thread_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Not offered */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    stream_thread_events: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                thread_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["EventsQuery"];
            };
        };
        responses: {
            /** @description Server-sent events */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                    "text/event-stream": unknown;
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            415: components["responses"]["Problem415"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    create_stateless_run: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RunCreate"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunAnswer"];
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            415: components["responses"]["Problem415"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    stream_stateless_run: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RunCreate"];
            };
        };
        responses: {
            /** @description Server-sent events */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                    "text/event-stream": unknown;
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            415: components["responses"]["Problem415"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    wait_stateless_run: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RunCreate"];
            };
        };
        responses: {
            /** @description The graph's values at the end; a run that failed gives `{'__error__': {error, message}}` */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            415: components["responses"]["Problem415"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    create_run_batch: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["BatchRun"][];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunAnswer"][];
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            415: components["responses"]["Problem415"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    cancel_runs: {
        parameters: {
            query?: {
                action?: "interrupt" | "rollback";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CancelMany"];
            };
        };
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            415: components["responses"]["Problem415"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    create_assistant: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AssistantCreate"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AssistantAnswer"];
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            415: components["responses"]["Problem415"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    search_assistants: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AssistantSearch"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AssistantAnswer"][];
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            415: components["responses"]["Problem415"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    count_assistants: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AssistantCount"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": number;
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            415: components["responses"]["Problem415"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    get_assistant: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                assistant_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AssistantAnswer"];
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    delete_assistant: {
        parameters: {
            query?: {
                delete_threads?: boolean;
            };
            header?: never;
            path: {
                assistant_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    update_assistant: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                assistant_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AssistantPatch"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AssistantAnswer"];
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            415: components["responses"]["Problem415"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    list_assistant_versions: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                assistant_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["VersionsQuery"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AssistantAnswer"][];
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            415: components["responses"]["Problem415"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    set_latest_assistant_version: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                assistant_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["VersionChoice"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AssistantAnswer"];
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            415: components["responses"]["Problem415"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    get_assistant_schemas: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                assistant_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GraphSchemas"];
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    get_assistant_graph: {
        parameters: {
            query?: {
                xray?: number | boolean;
            };
            header?: never;
            path: {
                assistant_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        [key: string]: unknown;
                    };
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    get_assistant_subgraphs: {
        parameters: {
            query?: {
                recurse?: boolean;
            };
            header?: never;
            path: {
                assistant_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        [key: string]: components["schemas"]["GraphSchemas"];
                    };
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    get_assistant_subgraph: {
        parameters: {
            query?: {
                recurse?: boolean;
            };
            header?: never;
            path: {
                assistant_id: string;
                namespace: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        [key: string]: components["schemas"]["GraphSchemas"];
                    };
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    get_item: {
        parameters: {
            query: {
                key: string;
                namespace?: string[] | null;
                refresh_ttl?: boolean | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ItemAnswer"] | null;
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    put_item: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ItemPut"];
            };
        };
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            415: components["responses"]["Problem415"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    delete_item: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ItemDelete"];
            };
        };
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            415: components["responses"]["Problem415"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    search_items: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ItemSearch"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ItemsAnswer"];
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            415: components["responses"]["Problem415"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    list_namespaces: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NamespaceQuery"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NamespacesAnswer"];
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            415: components["responses"]["Problem415"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    load_model: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Server-sent events */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                    "text/event-stream": unknown;
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    load_model_post: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Server-sent events */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                    "text/event-stream": unknown;
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            409: components["responses"]["Problem409"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    research: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ResearchQuestion"];
            };
        };
        responses: {
            /** @description Server-sent events */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                    "text/event-stream": unknown;
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            415: components["responses"]["Problem415"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    approve_research: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ResearchAnswer"];
            };
        };
        responses: {
            /** @description Server-sent events */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                    "text/event-stream": unknown;
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            415: components["responses"]["Problem415"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    join_research: {
        parameters: {
            query?: never;
            header?: {
                "last-event-id"?: string | null;
            };
            path: {
                threadId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Server-sent events */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                    "text/event-stream": unknown;
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    research_bundle: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                threadId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The bundle */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                    "application/zip": string;
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    get_usage: {
        parameters: {
            query?: {
                group_by?: "run" | "thread" | "owner" | "day" | "model";
                thread_id?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UsageAnswer"][];
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    get_usage_of_all: {
        parameters: {
            query?: {
                group_by?: "run" | "thread" | "owner" | "day" | "model";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UsageAnswer"][];
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    export_data: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description JSON lines */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                    "application/x-ndjson": unknown;
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    list_effects: {
        parameters: {
            query?: {
                thread_id?: string | null;
                /** @description Also those whose outcome is known, or that are under way */
                known?: boolean;
                limit?: number;
                offset?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EffectAnswer"][];
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    list_effects_of_all: {
        parameters: {
            query?: {
                thread_id?: string | null;
                /** @description Also those whose outcome is known, or that are under way */
                known?: boolean;
                limit?: number;
                offset?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EffectAnswer"][];
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    settle_effect: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["EffectSettle"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EffectAnswer"];
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            415: components["responses"]["Problem415"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    settle_effect_of_all: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["EffectSettle"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EffectAnswer"];
                };
            };
            400: components["responses"]["Problem400"];
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            404: components["responses"]["Problem404"];
            409: components["responses"]["Problem409"];
            413: components["responses"]["Problem413"];
            415: components["responses"]["Problem415"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
    get_ok: {
        parameters: {
            query?: {
                check_db?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Ok"];
                };
            };
            422: components["responses"]["Problem422"];
            503: components["responses"]["Problem503"];
        };
    };
    get_info: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Info"];
                };
            };
            422: components["responses"]["Problem422"];
            503: components["responses"]["Problem503"];
        };
    };
    get_metrics: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Counters */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                    "text/plain": string;
                };
            };
            401: components["responses"]["Problem401"];
            403: components["responses"]["Problem403"];
            422: components["responses"]["Problem422"];
            429: components["responses"]["Problem429"];
            503: components["responses"]["Problem503"];
        };
    };
}
