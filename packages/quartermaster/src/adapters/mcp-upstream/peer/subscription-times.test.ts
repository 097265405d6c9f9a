import { expect, it } from 'vitest'
import { createFakeClock } from '../../../testing/fake-clock.ts'
import { createSubscriptionTimes } from './subscription-times.ts'

function hearing() {
  const clock = createFakeClock()
  const said: string[] = []
  const events = {
    onListChanged: (kind: string) => void said.push(kind),
    onResourceUpdated: (uri: string) => void said.push(uri),
  }
  const heard = createSubscriptionTimes({ clock, lists: ['tools', 'prompts'], events })
  return { clock, heard, said }
}

it('says of an address that is told of late that it may have changed, and of no other', async () => {
  const { clock, heard, said } = hearing()
  heard.setWanted(new Set(['x://1']))
  await clock.advance(1_000)
  heard.setWanted(new Set(['x://1', 'x://2']))
  heard.onStreamActive(new Set(['x://1', 'x://2']))
  expect(said).toEqual(['x://1'])
  heard.onStreamActive(new Set(['x://1', 'x://2']))
  expect(said).toHaveLength(1)
})
