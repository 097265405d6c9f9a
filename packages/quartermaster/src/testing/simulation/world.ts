import { AppError } from '../../contracts/index.ts'
import { type AnyTool, defineDependency, defineEffect, defineTool } from '../../core/catalogue/index.ts'
import { DOWN, simpleCapability, type UnitContents, UP } from '../hub.ts'
import type { Happened } from './history.ts'
import type { Life } from './node.ts'
import type { Seeded } from './seeded.ts'

/** What is outside of all processes. */
export interface World {
  readonly random: Seeded
  /** The operations that have been done. */
  readonly done: Set<string>
  /** Whether what `send` needs is there. */
  isOpen: boolean
  /** Nothing fails any more. */
  isQuiet: boolean
  runs: number
  note(one: Happened): void
}

export const ITEMS = ['a', 'b', 'c']
export const TOOLS = ['add', 'set', 'guarded_add', 'guarded_set', 'mark', 'send']

interface Place {
  readonly node: string
  readonly life: Life
  readonly world: World
}

/**
 * Tools that add (twice is two) and set (twice is one), free and with consent; one whose work can be looked at, and one that
 * needs something that goes and comes. They fail in all the ways there are.
 */
export function unitOf(place: Place): UnitContents {
  const replay = { idempotent: true, retry: 'replay' } as const
  const effects = [{ name: 'it', kind: 'seen', id: '{operationId}' }]
  const tools = [
    tool('add', { retry: 'manual' }, place),
    tool('set', replay, place),
    tool('guarded_add', { retry: 'manual', consent: ['world.change'] }, place),
    tool('guarded_set', { ...replay, consent: ['world.change'] }, place),
    tool('mark', { idempotent: true, retry: 'verifyFirst', effects }, place),
    tool('send', { ...replay, requires: ['post'] }, place),
  ]
  const probe = { describe: { kind: 'fake', name: 'post' }, run: async () => (place.world.isOpen ? UP : DOWN) }
  return {
    capabilities: [
      simpleCapability('main', tools, {
        effectKinds: [defineEffect({ kind: 'seen', fields: ['id'], look: fields => look(String(fields.id), place) })],
        consentOperations: [
          { name: 'world.change', reason: 'It changes the world.', weight: 'moderate', scope: '{item}' },
        ],
      }),
    ],
    dependencies: [defineDependency({ name: 'post', probe })],
  }
}

async function look(id: string, { life, world }: Place): Promise<boolean> {
  if (!world.isQuiet && world.random.chance(0.1)) throw new Error('It cannot be seen now.')
  const isThere = world.done.has(id)
  await life.awake()
  return isThere
}

function tool(name: string, facts: Partial<AnyTool>, place: Place): AnyTool {
  return defineTool({
    name,
    short: 'Changes the world.',
    input: { type: 'object', properties: { item: { type: 'string' } }, required: ['item'] },
    mutates: true,
    ...facts,
    async handler({ item }: { item: string }, { operationId: operation }: { operationId: string }) {
      const { world, node } = place
      const run = ++world.runs
      world.note({ kind: 'ran', run, node, operation, tool: name, item })
      try {
        return await work({ run, operation, tool: name }, place)
      } finally {
        world.note({ kind: 'returned', run, operation })
      }
    },
  } as never) as AnyTool
}

async function work(one: { run: number; operation: string; tool: string }, { life, world }: Place): Promise<string> {
  const fails = world.isQuiet ? 1 : world.random.next()
  if (one.tool === 'send' && !world.isOpen)
    throw new AppError('DEPENDENCY_UNAVAILABLE', 'The post is closed.', { details: { dependency: 'post' } })
  // What waits to be done again is what persons can take back.
  if (fails < (one.tool === 'guarded_set' ? 0.35 : 0.15)) throw new AppError('DEPENDENCY_UNAVAILABLE', 'It is closed.')
  await aWhile(world, life)
  world.done.add(one.operation)
  world.note({ kind: 'effect', ...one })
  await aWhile(world, life)
  if (fails > 0.9 && !world.isQuiet) throw new AppError('OUTCOME_UNKNOWN', 'The line broke.')
  return 'done'
}

async function aWhile({ isQuiet, random }: World, life: Life): Promise<void> {
  for (let i = isQuiet ? 0 : random.below(5); i > 0; i--) await new Promise(resolve => setImmediate(resolve))
  await life.awake()
}
