import { expect, it } from 'vitest'
import { createDepartures } from './departures.ts'
import type { Upstream } from './upstream.ts'

/** One that never ends by itself what it has under way. */
function busyOne() {
  const stopped: string[] = []
  const ends: (() => void)[] = []
  const upstream: Partial<Upstream> = {
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
