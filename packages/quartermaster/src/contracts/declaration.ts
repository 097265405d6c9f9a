import { z } from 'zod'
import { ConsentOperationName, Name } from './names.ts'
import { AsTask, ConsentOperation, EffectSpec, RetryPolicy, ToolFacts } from './tool.ts'

/** The form in which declarations are written now. */
export const DECLARATION_SCHEMA = 1

/** `op.notes.append`: what a callable is registered under. */
export const OpId = z
  .string()
  .max(200)
  .regex(/^op\.[a-z][A-Za-z0-9_-]*\.[a-z][A-Za-z0-9_-]*$/, 'must look like "op.notes.append"')
export type OpId = z.infer<typeof OpId>

const plain = z.record(z.string(), z.unknown())

/** One thing a declared tool takes: JSON Schema, and whether callers must give it. Nothing at all means: as the op has it. */
export const DeclaredParameter = z
  .looseObject({
    required: z.boolean({ error: 'must be true or false; inside of an object, say it at each property' }).optional(),
  })
  .nullable()
export type DeclaredParameter = z.infer<typeof DeclaredParameter>

/** A name, or the whole of an operation that nothing else declares. */
const consent = z.union([ConsentOperationName, ConsentOperation], {
  error: ({ input }) => {
    const [issue] =
      (typeof input === 'string' ? ConsentOperationName : ConsentOperation).safeParse(input).error?.issues ?? []
    return issue && [...issue.path, issue.message].join(' ')
  },
})

/** What a declaration says at the head of its file. What it leaves out, its op, its folder or its file's name says. */
export const DeclarationFacts = z.strictObject({
  schema: z.literal(DECLARATION_SCHEMA),
  op: OpId,
  /** The name of the file when absent. */
  name: Name.optional(),
  title: ToolFacts.shape.title.optional(),
  short: ToolFacts.shape.short,
  whenToUse: ToolFacts.shape.whenToUse.optional(),
  /** The name of the folder when absent. */
  section: Name.optional(),
  /** The section when absent. */
  capability: Name.optional(),
  icon: ToolFacts.shape.icon,
  parameters: z.record(Name, DeclaredParameter).default({}),
  /** Values that are handed to the op and not asked of the caller. */
  fixed: z.record(Name, z.unknown()).default({}),
  /** What the op's settings say. */
  with: plain.optional(),
  mutates: z.boolean().optional(),
  idempotent: z.boolean().optional(),
  retry: RetryPolicy.optional(),
  timeoutSeconds: z.number().positive().max(3_600).optional(),
  maxResultBytes: ToolFacts.shape.maxResultBytes.optional(),
  asTask: AsTask.optional(),
  /** Names of what a person may have to allow, or the whole of it where nothing else declares it. */
  consent: z.array(consent).max(20).default([]),
  effects: z.array(EffectSpec).max(20).default([]),
  requires: z.array(Name).max(50).default([]),
  search: ToolFacts.shape.search,
  examples: ToolFacts.shape.examples.default([]),
  command: ToolFacts.shape.command.optional(),
})
export type DeclarationFacts = z.infer<typeof DeclarationFacts>
