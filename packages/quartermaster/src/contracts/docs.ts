import { z } from 'zod'
import { codePointOf } from './primitives.ts'

/** The kinds of documentation units. */
export const UNIT_KINDS = [
  'directions',
  'system',
  'concept',
  'reference',
  'integration',
  'service',
  'capability',
  'workflow',
] as const
const UnitKind = z.enum(UNIT_KINDS)

/** The path of a unit: the names of its folders and its own, joined by `/`, without an ending. */
export const UnitPath = z
  .string()
  .normalize('NFC')
  .max(200)
  .superRefine((path, context) => {
    const message = path.split('/').map(wrongName).find(Boolean)
    if (message) context.addIssue({ code: 'custom', message })
  })

/** What is wrong with the name of a file or folder, if anything. */
function wrongName(name: string): string | undefined {
  if (name === '') return 'must be names joined by "/"'
  const odd = [...name].find(letter => !/[\p{L}\p{M}\p{N}_. +'(),&-]/u.test(letter))
  if (odd !== undefined)
    return `cannot have ${shown(odd)}: names are made of letters, digits, spaces and _ . - + ' ( ) , &`
  return /^[\p{L}\p{N}_]/u.test(name)
    ? undefined
    : `has a name that begins with no letter, no digit and no "_": "${name}"`
}

function shown(letter: string): string {
  return /[\p{C}\p{Z}]/u.test(letter) ? codePointOf(letter) : `"${letter}"`
}

const words = z.array(z.string().min(1).max(200)).max(50)
/** Paths of entries that are no units: `tool:NAME` and `capability:KEY`. */
const ReadablePath = z.union(
  [
    UnitPath,
    z
      .string()
      .max(200)
      .regex(/^(?:tool|capability):[^\s:]+$/),
  ],
  {
    error: 'must be the path of a unit, "tool:NAME" or "capability:KEY"',
  },
)
const paths = z.array(ReadablePath).max(50)

/** The front matter of a unit. */
export const UnitFacts = z
  .strictObject({
    kind: UnitKind,
    title: z.string().min(1).max(200),
    /** A sentence or two that help a reader decide whether to read it. */
    summary: z.string().min(1).max(1_000).optional(),
    /** Directions: the situation in which they apply. */
    whenToUse: z.string().min(1).max(2_000).optional(),
    /** Directions: their slash command. */
    command: z
      .string()
      .max(64)
      .regex(/^[a-z][a-z0-9]*(?:-[a-z0-9]+)*$/, 'must be lower case words joined by "-"')
      .optional(),
    /** The tools it refers to; an agent that lacks one of them does not get it as directions. */
    tools: words.default([]),
    parents: paths.default([]),
    tags: words.default([]),
    /** Other names for a search. */
    aliases: words.default([]),
    seeAlso: paths.default([]),
  })
  .superRefine((facts, context) => {
    if (facts.kind !== 'directions') return
    for (const field of ['summary', 'whenToUse', 'command'] as const)
      if (facts[field] === undefined)
        context.addIssue({ code: 'custom', path: [field], message: 'is needed by directions' })
  })
export type UnitFacts = z.infer<typeof UnitFacts>

/** The kind of an entry: a unit, a capability or a tool. */
export const DocKind = z.enum([...UNIT_KINDS, 'tool'])
export type DocKind = z.infer<typeof DocKind>

/** How much of each entry is shown: its path and title, its summary, or all of it. */
export const DocDepth = z.enum(['index', 'summary', 'full'])
export type DocDepth = z.infer<typeof DocDepth>

/** Whether a tool or capability works now, and if not, why. */
export const DocState = z.object({ state: z.enum(['active', 'disabled']), reason: z.string().optional() })
export type DocState = z.infer<typeof DocState>

const LONGEST_PATH = 300
const MOST_LISTED = 1_000

/** A query to the docs. */
export const DocsQuestion = z
  .strictObject({
    query: z
      .string()
      .max(20_000)
      .optional()
      .describe('What you want to know, in plain words. The best fitting are shown.'),
    path: z
      .string()
      .min(1)
      .max(LONGEST_PATH)
      .optional()
      .describe(
        'Exactly this: the path of a unit or one of its other names, the name of a tool, "tool:NAME" or "capability:NAME".',
      ),
    scope: z
      .string()
      .min(1)
      .max(LONGEST_PATH)
      .optional()
      .describe('Only what is at or below this path: a folder of units, a unit, or "capability:NAME".'),
    kind: DocKind.optional().describe('Only entries of this kind.'),
    depth: DocDepth.optional().describe(
      'How much of each: "index" (path and title), "summary", or "full" (Markdown). ' +
        'Full for a path, summary for a query and index for a list unless you say so.',
    ),
    limit: z.number().int().min(1).max(MOST_LISTED).optional().describe('The most entries to show at once.'),
    cursor: z.string().min(1).max(LONGEST_PATH).optional().describe('Goes on with a list, as the answer before says.'),
    offset: z.number().int().nonnegative().optional().describe('Goes on with a long text, as the answer before says.'),
  })
  .refine(({ path, query }) => path === undefined || query === undefined, 'Give "path" or "query", not both.')
  .refine(
    ({ path, query, cursor }) => cursor === undefined || (path === undefined && query === undefined),
    '"cursor" goes on with a list: give it without "path" and "query".',
  )
export type DocsQuestion = z.infer<typeof DocsQuestion>

/** One entry of the docs, at the requested depth. */
export const DocEntry = z.object({
  /** The path of a unit; `tool:NAME` or `capability:KEY`. */
  path: z.string(),
  kind: DocKind,
  title: z.string(),
  ...DocState.partial().shape,
  summary: z.string().optional(),
  whenToUse: z.string().optional(),
  command: z.string().optional(),
  tools: z.array(z.string()).optional(),
  tags: z.array(z.string()).optional(),
  /** Relevance up to 1; 1 when the query names the entry. */
  score: z.number().optional(),
})
export type DocEntry = z.infer<typeof DocEntry>

/** The answer of the docs. */
export const DocsAnswer = z.object({
  depth: DocDepth,
  entries: z.array(DocEntry),
  /** The length of the whole list. */
  total: z.number().int().optional(),
  /** Present when the list continues. */
  nextCursor: z.string().optional(),
  /** At full depth: the pages, in Markdown. */
  text: z.string().optional(),
  /** Present when the text continues. */
  nextOffset: z.number().int().optional(),
})
export type DocsAnswer = z.infer<typeof DocsAnswer>
