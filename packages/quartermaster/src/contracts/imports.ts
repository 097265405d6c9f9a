import { z } from 'zod'

/** The client whose configuration has a server. */
export type ClientKind = 'claude-code' | 'claude-desktop' | 'cursor' | 'vscode' | 'file'

/** A text that the client would ask a person for. */
export interface ForeignQuestion {
  /** The client's id for it; asked once per file. */
  readonly id: string
  /** The secret that the entry refers to. */
  readonly secret: string
  readonly prompt: string
  /** It is not shown while it is typed. */
  readonly isHidden: boolean
  /** Used when the person gives no answer. */
  readonly fallback?: string | undefined
}

/** How to remove a server from the client it was found in: by a command, or by hand. */
export type ForeignRemoval =
  | { readonly command: readonly string[] /** Where it is run. */; readonly folder?: string | undefined }
  | { readonly file: string /** The keys that lead to its entry. */; readonly keys: readonly string[] }

/** An MCP server from the configuration of another client, translated. */
export interface ForeignServer {
  /** The client's name for it. */
  readonly name: string
  /** Its name here. */
  readonly as: string
  readonly client: ClientKind
  readonly file: string
  readonly removal: ForeignRemoval
  /** The other folder that it is for, if it is for one alone. */
  readonly elsewhere?: string | undefined
  /** Our entry for it; absent when it is skipped. */
  readonly entry?: Readonly<Record<string, unknown>> | undefined
  /** Values for the secrets file that the entry refers to. */
  readonly secrets: Readonly<Record<string, string>>
  readonly asks: readonly ForeignQuestion[]
  /** Secrets also stand in the client's file, which lies in the project folder and is never changed. */
  readonly isLeftInClear?: true | undefined
  /** Notes for the person. */
  readonly notes: readonly string[]
  /** Why it is skipped. */
  readonly skipped?: string | undefined
}

/** Servers found in the configurations of other clients. */
export interface ForeignServers {
  /** The folder for a new project, because there is none in it or above. */
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

/** An operation of an API document. */
export const DescribedOperation = z.object({
  /** The id to choose it by. */
  id: z.string(),
  method: z.string(),
  path: z.string(),
  short: z.string(),
  /** The name of its tool. */
  tool: z.string(),
  /** Why no tool can be made of it. */
  refused: z.string().optional(),
})
export type DescribedOperation = z.infer<typeof DescribedOperation>

/** A declaration made from an operation. */
export const ImportedOperation = z.object({
  id: z.string(),
  tool: z.string(),
  /** Relative to the project folder. */
  file: z.string(),
  outcome: z.enum(['written', 'replaced', 'unchanged', 'wouldWrite', 'wouldReplace']),
  /** What was left out, or needs a check. */
  notes: z.array(z.string()),
  /** The secrets it sends, and to which host. */
  secrets: z.array(z.object({ name: z.string(), what: z.string(), host: z.string() })),
})
export type ImportedOperation = z.infer<typeof ImportedOperation>

/** The result of an import. */
export const ImportedApi = z.object({
  title: z.string(),
  capability: z.string(),
  /** All operations when none was chosen; when all were, those that cannot become tools. */
  operations: z.array(DescribedOperation),
  imported: z.array(ImportedOperation),
  /** Secrets that the tools need and that have no value yet. */
  secrets: z.array(z.object({ name: z.string(), what: z.string() })),
  secretsFile: z.string(),
})
export type ImportedApi = z.infer<typeof ImportedApi>
