import { expect, it } from 'vitest'
import type { UpstreamStatus } from '../../contracts/index.ts'
import { createDepartures } from './departures.ts'
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
  const departures = createDepartures()
  const [early, late] = [busyOne(), busyOne()]
  departures.add(early.upstream)
  expect(early.stopped).toEqual([])
  departures.hurry('Quartermaster is stopping.')
  departures.add(late.upstream)
  await departures.settled()
  expect([early.stopped, late.stopped]).toEqual([['Quartermaster is stopping.'], ['Quartermaster is stopping.']])
})

it('are ended by their name, and their processes known until then', async () => {
  const departures = createDepartures()
  const [first, second, other] = [busyOne('tracker', [1]), busyOne('tracker', [2, 3]), busyOne('mail', [4])]
  for (const { upstream } of [first, second, other]) departures.add(upstream)
  expect(departures.pids('tracker')).toEqual([1, 2, 3])
  departures.end('tracker', 'It is started anew.')
  expect([first, second, other].map(({ stopped }) => stopped.length)).toEqual([1, 1, 0])
  await expect.poll(() => departures.pids('tracker')).toEqual([])
  expect(departures.pids('mail')).toEqual([4])
})
