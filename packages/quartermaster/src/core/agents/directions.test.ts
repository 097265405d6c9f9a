import { expect, it } from 'vitest'
import { parse } from 'yaml'
import { createHub, simpleCapability, simpleTool } from '../../testing/hub.ts'

const HEAD = { kind: 'directions', title: 'T', summary: 'S.', whenToUse: 'W.' }

/** A worker whose shop holds one tool back, and directions under these words that name that tool. */
async function seatWith(...commands: readonly string[]) {
  const withheld = [{ name: 'sell', reason: 'It waits for a person.' }]
  const shop = simpleCapability('shop', [simpleTool('buy')], { withheld })
  const other = simpleCapability('other', [simpleTool('give')])
  const written = commands.map(command => ({
    path: command,
    front: { ...HEAD, command, tools: ['sell'] },
    body: 'Go.',
  }))
  const hub = await createHub({
    units: { 'shop.ts': { capabilities: [shop, other] }, 'knowledge/all.md': { written } },
    agents: { worker: { capabilities: { shop: {} } }, stranger: { capabilities: { other: {} } } },
  })
  return { worker: hub.agents.session('worker'), stranger: hub.agents.session('stranger') }
}

it('keeps directions whose tool is held back: what to do then is often what they are for', async () => {
  const { worker, stranger } = await seatWith('go')
  expect(worker.prompt('go')).toBeDefined()
  expect(worker.resource('skill://go/SKILL.md')).toBeDefined()
  expect(stranger.prompt('go')).toBeUndefined()
})

it('offers no directions whose tool a capability left out for this agent', async () => {
  const shop = simpleCapability('shop', [simpleTool('sell')], { resolve: () => null })
  const written = [{ path: 'go', front: { ...HEAD, command: 'go', tools: ['sell'] }, body: 'Go.' }]
  const hub = await createHub({
    units: { 'shop.ts': { capabilities: [shop] }, 'knowledge/all.md': { written } },
    agents: { worker: { capabilities: { shop: {} } } },
  })
  expect(hub.agents.session('worker').prompt('go')).toBeUndefined()
})

it.each(['true', 'null', 'no', 'go-1'])('writes the word "%s" as a word at the head of a skill', async command => {
  const { worker } = await seatWith(command)
  const text = String(
    worker.resource(`skill://${command}/SKILL.md`)?.grant.resource.read({ uri: '', params: {} }, {} as never),
  )
  const [, head = ''] = text.split('---')
  expect(parse(head)).toEqual({ name: command, description: 'S. W.' })
})
