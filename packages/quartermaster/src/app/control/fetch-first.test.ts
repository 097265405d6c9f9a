import { expect, it } from 'vitest'
import type { Control, Progress } from '../../contracts/index.ts'
import { deferred } from '../../testing/deferred.ts'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { type FetchFirstDeps, fetchFirst } from './control-preload.ts'

/** A control of a command, with a tool that is known and a server that is still to be downloaded. */
function desk() {
  const clock = createFakeClock()
  const done: unknown[] = []
  const there = deferred<boolean>()
  const statuses = [
    { name: 'a', state: 'starting', isFetching: true },
    { name: 'b', state: 'idle', isFetching: true },
    { name: 'c', state: 'starting', isFetching: true },
  ]
  const answer = (name: string) => async () => void done.push(name)
  const answers = { tools: answer('tools'), tool: answer('tool'), call: answer('call'), doctor: answer('doctor') }
  const control = { ...answers, restartUpstream: () => there.promise }
  const current = () => ({ tools: new Map([['known', {}]]) })
  const deps = {
    clock,
    core: { catalogue: { current, reload: answer('reload') } },
    upstreams: {
      download: (tool?: string) => (done.push(['fetch', tool]), there.promise),
      statuses: () => statuses,
    },
    look: answer('look'),
  }
  const told: Progress[] = []
  const awaited: (readonly string[])[] = []
  const on = {
    onProgress: (progress: Progress) => void told.push(progress),
    onAwaiting: (names: readonly string[]) => void awaited.push(names),
  }
  const fetching = fetchFirst(control as unknown as Control, deps as unknown as FetchFirstDeps)
  return { clock, control: fetching, done, there, on, told, awaited, statuses }
}

it('downloads for whoever asks for all tools or for one that is not there, and says so', async () => {
  const { clock, control, done, there, on, told } = desk()
  const asked = [control.tools({}, on), control.tool({ name: 'x' }, on), control.call({ agent: 'a', tool: 'y' }, on)]
  await clock.advance(10_000)
  expect(done).toEqual([
    ['fetch', undefined],
    ['fetch', 'x'],
    ['fetch', 'y'],
  ])
  expect(told[0]).toEqual({
    progress: 0,
    total: 2,
    message: 'ready; a, c may be downloading what it runs, and Ctrl-C leaves it',
  })
  there.resolve(true)
  await Promise.all(asked)
  expect(done.slice(3).filter(one => one === 'reload')).toHaveLength(3)
  expect(done.slice(-3).toSorted()).toEqual(['call', 'tool', 'tools'])
})

it('says whom it waits for, and again when these are fewer', async () => {
  const { clock, control, there, on, told, awaited, statuses } = desk()
  const asked = control.tools({}, on)
  await clock.advance(1_000)
  expect({ told, awaited }).toEqual({ told: [], awaited: [['a', 'c']] })
  await clock.advance(30_000)
  statuses.pop()
  await clock.advance(30_000)
  expect(told.map(({ progress, total, message }) => [progress, total, message?.slice(0, 16)])).toEqual([
    [0, 2, 'ready; a, c may '],
    [1, 2, 'ready; a may be '],
  ])
  there.resolve(false)
  await asked
  await clock.advance(30_000)
  expect(awaited).toEqual([['a', 'c'], ['a'], []])
})

it('says whom a restart waits for from its first moments on, and leaves it to who goes on waiting to tell of it', async () => {
  const { clock, control, there, on, awaited, told } = desk()
  const restarted = control.restartUpstream({ name: 'a' }, on)
  await clock.advance(10)
  expect(awaited).toEqual([['a', 'c']])
  await clock.advance(30_000)
  expect(told).toEqual([])
  there.resolve(true)
  await restarted
})

it('downloads nothing for a tool that is there, for other questions, and for who cannot be told', async () => {
  const { control, done, on } = desk()
  await control.call({ agent: 'a', tool: 'known' }, on)
  await control.tool({ name: 'known' }, on)
  await control.doctor({}, on)
  await control.tools({})
  expect(done).toEqual(['call', 'tool', 'doctor', 'tools'])
})
