import { z } from 'zod'

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
