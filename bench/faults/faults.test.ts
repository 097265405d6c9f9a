import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, it } from 'vitest'
import { hasPostgresBinaries } from '../../packages/quartermaster/src/testing/postgres/postgres-server.ts'
import { type Activity, findingsIn, type Records, type Task } from './evidence.mjs'
import { createNotes } from './notes.mjs'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

interface Row {
  readonly part: string
  readonly what: string
  readonly measured: number
}

const node = (...args: string[]) => promisify(execFile)(process.execPath, args, { cwd: ROOT })

/** Ends with 1, and so throws, when something was lost, there twice or there by half. */
async function faults(...args: string[]): Promise<readonly Row[]> {
  return JSON.parse((await node('bench/faults/index.mjs', '--json', '--rounds', '1', ...args)).stdout).figures
}

// What is built is killed, so there has to be a build of these sources.
beforeAll(() => node('scripts/ensure.mjs'))

const WRONG = ['lost', 'doubled', 'half']

/** The parts in which messages were acknowledged and nothing was found wrong. */
function wholeParts(figures: readonly Row[]): readonly string[] {
  const parts = [...new Set(figures.map(({ part }) => part))]
  return parts.filter(part => {
    const measured = (what: string) => figures.find(row => row.part === part && row.what === what)?.measured
    return (measured('acknowledged: messages') ?? 0) > 0 && WRONG.every(what => measured(what) === 0)
  })
}

describe('what was acknowledged', () => {
  it('is there, whole and once, after kill -9, after SIGTERM, when old rows are forgotten, when a clock is put, and when one of two nodes dies with what it has leased, or their database', async () => {
    // Each mostly waits for a node.
    const all = await Promise.all([
      faults('--only', 'killed,ended', '--seed', '1'),
      faults('--only', 'pruned,clock', '--seed', '1'),
      ...(hasPostgresBinaries() ? [faults('--store', 'postgres', '--only', 'shared', '--seed', '2')] : []),
    ])
    const parts = ['killed', 'ended', 'pruned', 'clock', ...(hasPostgresBinaries() ? ['shared'] : [])]
    expect(all.flatMap(wholeParts)).toEqual(parts)
  })
})

describe('what is looked at', () => {
  const row = (id: string, more: Partial<Activity> = {}): Activity => ({
    id,
    workspace_id: id.endsWith('_in') ? 'bob' : 'ada',
    sequence: 1,
    kind: 'peer_agent',
    direction: id.endsWith('_in') ? 'in' : 'out',
    peer_kind: 'workspace',
    message_id: id.replace(/_(in|out)$/, ''),
    text: 'hello',
    delegation_id: null,
    ...more,
  })
  const task: Task = {
    id: 't1',
    state: 'completed',
    task: 'dig',
    message_id: 'm2',
    activity_id: 'm2_in',
    notice_id: 'm3_in',
    slot: null,
    due_at: null,
  }
  const end = { kind: 'delegation_result', delegation_id: 't1', text: 'done' }
  /** A message that waits, a task that is over with its end, and a memory. */
  const whole: Records = {
    activity: [
      row('m1_out'),
      row('m1_in'),
      row('m2_out', { sequence: 2, delegation_id: 't1', text: 'dig' }),
      row('m2_in', { sequence: 2, delegation_id: 't1', text: 'dig' }),
      row('m3_out', { ...end, workspace_id: 'bob', sequence: 3 }),
      row('m3_in', { ...end, workspace_id: 'ada', sequence: 3 }),
    ],
    inbox: [
      { id: 'm1_in', workspace_id: 'bob', sequence: 1 },
      { id: 'm3_in', workspace_id: 'ada', sequence: 3 },
    ],
    tasks: [task],
    memories: [{ id: 'mem1', content: 'known' }],
  }

  function notesOf(more: Partial<ReturnType<typeof createNotes>> = {}) {
    const asked = (id: string) => ({
      path: '',
      body: {},
      client: { ask: () => Promise.reject(new Error()), close() {} },
      ids: new Set([id]),
      isKeyed: true,
    })
    return {
      ...createNotes(),
      messages: new Map([['hello', asked('m1')]]),
      tasks: new Map([['dig', asked('t1')]]),
      memories: new Map([['known', asked('mem1')]]),
      ...more,
    }
  }

  const kinds = (records: Partial<Records>, notes = notesOf()) =>
    Object.entries(findingsIn({ ...whole, ...records }, notes)).flatMap(([kind, { length }]) => (length ? [kind] : []))
  const without = (id: string) => whole.activity.filter(one => one.id !== id)

  it('finds nothing where all is well', () => expect(kinds({})).toEqual([]))

  it.each<[string, Partial<Records>, readonly string[]]>([
    [
      'an acknowledged message that is gone',
      { activity: without('m1_in').filter(({ id }) => id !== 'm1_out') },
      ['lost', 'half'],
    ],
    ['a message in one log alone', { activity: without('m1_out') }, ['half']],
    ['a message that waits no more', { inbox: whole.inbox.slice(1) }, ['lost']],
    [
      'what waits and is in no log',
      { inbox: [...whole.inbox, { id: 'm9_in', workspace_id: 'bob', sequence: 9 }] },
      ['half'],
    ],
    [
      'a number that is there twice',
      { activity: [...whole.activity, row('m4_out', { peer_kind: 'person', sequence: 3 })] },
      ['doubled'],
    ],
    [
      'a gap in a log',
      { activity: [...whole.activity, row('m4_out', { peer_kind: 'person', sequence: 5 })] },
      ['half'],
    ],
    ['a task that is gone', { tasks: [] }, ['lost']],
    ['a task that is there twice', { tasks: [task, { ...task, id: 't2' }] }, ['doubled']],
    ['an end that nobody is told', { tasks: [{ ...task, notice_id: null }] }, ['half']],
    ['a memory that is gone', { memories: [] }, ['lost']],
  ])('finds %s', (_what, records, found) => expect(kinds(records)).toEqual(found))

  it('finds what was taken out and waits again', () => {
    expect(kinds({}, notesOf({ acknowledged: new Map([['m1_in', 1]]) }))).toEqual(['doubled'])
  })
})
