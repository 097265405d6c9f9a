import { expect, it } from 'vitest'
import type { Control } from '../../contracts/index.ts'
import { deferred } from '../../testing/deferred.ts'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { type DownloadProgressDeps, withDownloadProgress } from './control-preload.ts'

it('reports which upstreams a restart waits for, from its first moments on, and again when these are fewer', async () => {
  const clock = createFakeClock()
  const restart = deferred<boolean>()
  const statuses = [
    { name: 'a', state: 'starting', isFetching: true },
    { name: 'b', state: 'idle', isFetching: true },
    { name: 'c', state: 'starting', isFetching: true },
  ]
  const own = { restartUpstream: () => restart.promise } as unknown as Control
  const deps = { clock, upstreams: { statuses: () => statuses } } as unknown as DownloadProgressDeps
  const awaited: (readonly string[])[] = []
  const onAwaiting = (names: readonly string[]) => void awaited.push(names)
  const restarted = withDownloadProgress(own, deps).restartUpstream({ name: 'a' }, { onAwaiting })
  await clock.advance(10)
  expect(awaited).toEqual([['a', 'c']])
  statuses.pop()
  await clock.advance(30_000)
  restart.resolve(true)
  await restarted
  await clock.advance(30_000)
  expect(awaited).toEqual([['a', 'c'], ['a'], []])
})
