import { expect, it } from 'vitest'
import { createHub, simpleCapability, simpleTool } from '../../testing/hub.ts'
import type { ViewChange } from './index.ts'

it('tells of what came and went in the quiet time as well: somebody may have listed in between', async () => {
  const unit = (...names: string[]) => ({
    capabilities: [
      simpleCapability(
        'desk',
        names.map(name => simpleTool(name)),
      ),
    ],
  })
  const hub = await createHub({ units: { 'desk.ts': unit('one') }, agents: { ada: { capabilities: { desk: {} } } } })
  const show = async (...names: string[]) => {
    hub.write('desk.ts', unit(...names))
    await hub.catalogue.reload()
    await hub.clock.advance(0)
  }
  const told: ViewChange[] = []
  hub.agents.follow(hub.agents.session('ada'), change => told.push(change))
  await show('one', 'two')
  await show('one', 'two', 'three')
  await show('one', 'two')
  expect(told).toHaveLength(1)
  await hub.clock.advance(1_000)
  expect(told).toEqual([1, 2].map(() => expect.objectContaining({ tools: true })))
  await hub.clock.advance(10_000)
  expect(told).toHaveLength(2)
})
