import { z } from 'zod'
import { codePointOf } from './code-point.ts'

/** What a piece of written knowledge is. */
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
export const UnitKind = z.enum(UNIT_KINDS)
export type UnitKind = z.infer<typeof UnitKind>

/** Where a unit is: the names of its folders and its own, joined by `/`, without an ending. */
export const UnitPath = z
  .string()
  .normalize('NFC')
  .max(200)
  .superRefine((path, context) => {
    const message = path.split('/').map(wrongName).find(Boolean)
    if (message) context.addIssue({ code: 'custom', message })
  })
export type UnitPath = z.infer<typeof UnitPath>

/** What is wrong with the name of a file or folder, said so that it can be renamed. */
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
/** What can be read about beside units: `tool:NAME` and `capability:KEY`. */
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

/** What a unit says about itself, at the head of its file. */
export const UnitFacts = z
  .strictObject({
    kind: UnitKind,
    title: z.string().min(1).max(200),
    /** A sentence or two, for whoever decides whether to read it. */
    summary: z.string().min(1).max(1_000).optional(),
    /** Directions: the situation in which they are to be followed. */
    whenToUse: z.string().min(1).max(2_000).optional(),
    /** Directions: the word they are called by, as a slash command. */
    command: z
      .string()
      .max(64)
      .regex(/^[a-z][a-z0-9]*(?:-[a-z0-9]+)*$/, 'must be lower case words joined by "-"')
      .optional(),
    /** The tools it speaks of; whoever has not all of them is not offered it as directions. */
    tools: words.default([]),
    parents: paths.default([]),
    tags: words.default([]),
    /** Other names under which it is looked for. */
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
