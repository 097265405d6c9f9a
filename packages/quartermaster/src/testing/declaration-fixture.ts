import { z } from 'zod'
import { type Op, type OpDefinition, registerOp } from '../core/catalogue/index.ts'
import { createHub, type Hub } from './hub.ts'

const Settings = z.strictObject({ note: z.string().default('inbox') })
const Input = z.object({
  text: z.string().max(100).describe('The line.'),
  mood: z.enum(['glad', 'sad', 'calm']).optional(),
  times: z.number().int().min(1).max(5).default(1),
})
const APPEND: OpDefinition<typeof Settings, typeof Input> = {
  short: 'Adds a line to a note.',
  settings: Settings,
  input: Input,
  idempotent: false,
  handler: ({ text, times, mood }, { settings, caller }) =>
    `${settings.note}: ${Array(times).fill(text).join(' ')} ${mood ?? ''} (${caller.name})`,
}

/** An op that adds lines to notes. */
export const append = (more: Partial<OpDefinition> = {}): Op =>
  registerOp('op.notes.append', { ...APPEND, ...more } as never)

const HEAD = { schema: 1, op: 'op.notes.append', short: 'Keeps a thought.', parameters: { text: {} } }
export type Front = Record<string, unknown>

/** A file that declares a tool of it. */
export const file = (front: Front = {}, path = 'thoughts/keep', body = 'How to keep one.') => ({
  written: [{ path, front: { ...HEAD, ...front }, body }],
})
export const KEEP = 'knowledge/thoughts/keep.md'
export const agents = { worker: { capabilities: { thoughts: {} } } }

/** A hub with the op and one file. */
export const hubWith = (front: Front = {}, op: Op = append()) =>
  createHub({ units: { 'ops.ts': { ops: [op] }, [KEEP]: file(front) }, agents })

export const say = async (hub: Hub, input: unknown, tool = 'keep') =>
  (await hub.callAs('worker', tool, input)).result.content
export const text = (words: string) => [{ type: 'text', text: words }]
export const messages = (hub: Hub) => hub.catalogue.problems().map(({ message }) => message)
