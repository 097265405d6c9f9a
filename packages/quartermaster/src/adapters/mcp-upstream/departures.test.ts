import { expect, it } from 'vitest'
import type { UpstreamStatus } from '../../contracts/index.ts'
import { createDrainingUpstreams } from './mounts.ts'
import type { Upstream } from './upstream.ts'

/** One that never ends by itself what it has under way. */
function busyOne(name = 'tracker', pids: readonly number[] = []) {
  const stopped: string[] = []
  const ends: (() => void)[] = []
  const upstream: Partial<Upstream> = {
    name,
    status: () => ({ pids }) as UpstreamStatus,
    leave: () => new Promise(resolve => void ends.push(resolve)),
    async stop(reason) {
      stopped.push(reason)
      for (const end of ends) end()
    },
  }
  return { upstream: upstream as Upstream, stopped }
}

it('are waited for, unless there is no time any more, also for those that come later', async () => {
  const draining = createDrainingUpstreams()
  const [early, late] = [busyOne(), busyOne()]
  draining.add(early.upstream)
  expect(early.stopped).toEqual([])
  draining.hurry('Quartermaster is stopping.')
  draining.add(late.upstream)
  await draining.settled()
  expect([early.stopped, late.stopped]).toEqual([['Quartermaster is stopping.'], ['Quartermaster is stopping.']])
})

it('are ended by their name, and their processes known until then', async () => {
  const draining = createDrainingUpstreams()
  const [first, second, other] = [busyOne('tracker', [1]), busyOne('tracker', [2, 3]), busyOne('mail', [4])]
  for (const { upstream } of [first, second, other]) draining.add(upstream)
  expect(draining.pids('tracker')).toEqual([1, 2, 3])
  draining.end('tracker', 'It is being restarted.')
  expect([first, second, other].map(({ stopped }) => stopped.length)).toEqual([1, 1, 0])
  await expect.poll(() => draining.pids('tracker')).toEqual([])
  expect(draining.pids('mail')).toEqual([4])
})
