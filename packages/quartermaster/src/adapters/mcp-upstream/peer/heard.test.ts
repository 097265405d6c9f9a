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
  heard.want(new Set(['x://1']))
  await clock.advance(1_000)
  heard.want(new Set(['x://1', 'x://2']))
  heard.tells(new Set(['x://1', 'x://2']))
  expect(said).toEqual(['x://1'])
  heard.tells(new Set(['x://1', 'x://2']))
  expect(said).toHaveLength(1)
})

it('says of everything that is still wanted that it may have changed, once it is told of again', () => {
  const { heard, said } = hearing()
  heard.want(new Set(['x://1', 'x://2']))
  heard.tells(new Set(['x://1', 'x://2']))
  const since = heard.since()
  heard.silent()
  expect([since !== undefined, heard.since()]).toEqual([true, undefined])
  heard.want(new Set(['x://1']))
  heard.tells(new Set(['x://1', 'x://2']))
  expect(said).toEqual(['tools', 'prompts', 'x://1'])
})

it('says nothing any more once it is stopped', async () => {
  const { clock, heard, said } = hearing()
  for (let time = 0; time < 2; time++) {
    heard.tells(new Set())
    heard.silent()
    heard.tells(new Set())
  }
  expect(said).toEqual(['tools', 'prompts'])
  heard.stop()
  await clock.advance(60_000)
  expect([said.length, heard.since()]).toEqual([2, undefined])
})
