import { z } from 'zod'

/** Whose configuration a server was found in. */
export type ClientKind = 'claude-code' | 'claude-desktop' | 'cursor' | 'vscode' | 'file'

/** A text that a client would ask a person for. */
export interface ForeignQuestion {
  /** What the client calls it; the same one in one file is asked once. */
  readonly id: string
  /** The secret that the entry refers to for it. */
  readonly secret: string
  readonly prompt: string
  /** It is not to be seen while it is typed. */
  readonly isHidden: boolean
  /** Used when the person gives no answer. */
  readonly fallback?: string | undefined
}

/** How a server is taken out of the client that it was found in: by a command of that client, or by hand. */
export type ForeignRemoval =
  | { readonly command: readonly string[] /** Where it is run. */; readonly folder?: string | undefined }
  | { readonly file: string /** The keys that lead to its entry. */; readonly keys: readonly string[] }

/** An MCP server from the configuration of another client, put into our words. */
export interface ForeignServer {
  /** As that client calls it. */
  readonly name: string
  /** As it would be called here. */
  readonly as: string
  readonly client: ClientKind
  readonly file: string
  readonly removal: ForeignRemoval
  /** The other folder that it is for, where it is for one alone. */
  readonly elsewhere?: string | undefined
  /** As it would stand in our configuration; absent when it is skipped. */
  readonly entry?: Readonly<Record<string, unknown>> | undefined
  /** What the entry refers to and the secrets file is to hold. */
  readonly secrets: Readonly<Record<string, string>>
  readonly asks: readonly ForeignQuestion[]
  /** Of the secrets some stand in its file, which is never changed, and that file lies in the project folder. */
  readonly isLeftInClear?: true | undefined
  /** What a person should know about it. */
  readonly notes: readonly string[]
  /** Why it is not to be had. */
  readonly skipped?: string | undefined
}

/** What was found in the configurations of other clients. */
export interface ForeignServers {
  /** The folder that a project would be made in, because there is none in it or above. */
  readonly newProject?: string
  readonly places: readonly {
    readonly client: ClientKind
    readonly file: string
    readonly found: boolean
    /** Why it could not be read. */
    readonly problem?: string | undefined
  }[]
  readonly servers: readonly ForeignServer[]
}

/** One operation of an API, as a document describes it. */
export const DescribedOperation = z.object({
  /** What it is chosen by. */
  id: z.string(),
  method: z.string(),
  path: z.string(),
  short: z.string(),
  /** What its tool is called. */
  tool: z.string(),
  /** Why no tool can be made of it. */
  refused: z.string().optional(),
})
export type DescribedOperation = z.infer<typeof DescribedOperation>

/** A declaration that was made of one. */
export const ImportedOperation = z.object({
  id: z.string(),
  tool: z.string(),
  /** From the project folder on. */
  file: z.string(),
  outcome: z.enum(['written', 'replaced', 'unchanged', 'wouldWrite', 'wouldReplace']),
  /** What was left out, or is to be looked at. */
  notes: z.array(z.string()),
  /** What it sends, and to whom. */
  secrets: z.array(z.object({ name: z.string(), what: z.string(), host: z.string() })),
})
export type ImportedOperation = z.infer<typeof ImportedOperation>

/** What came of an import. */
export const ImportedApi = z.object({
  title: z.string(),
  capability: z.string(),
  /** All that the document describes, when none was chosen; of all those that are no tools, when all were. */
  operations: z.array(DescribedOperation),
  imported: z.array(ImportedOperation),
  /** The secrets that the tools need and that are not there yet. */
  secrets: z.array(z.object({ name: z.string(), what: z.string() })),
  secretsFile: z.string(),
})
export type ImportedApi = z.infer<typeof ImportedApi>
