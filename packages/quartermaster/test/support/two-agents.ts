import type { Client } from '@modelcontextprotocol/client'
import { expect } from 'vitest'
import { type DeskOptions, openFixture, program, SDK_SERVER, textOf, type UpstreamDesk } from './upstream-fixture.ts'

/** A desk with two agents that have the same upstreams, and a client of each. */
export interface TwoAgents {
  readonly desk: UpstreamDesk
  readonly ada: Client
  readonly bob: Client
}

export async function openForTwo(mcpServers: DeskOptions['mcpServers']): Promise<TwoAgents> {
  const all = { capabilities: Object.fromEntries(Object.keys(mcpServers).map(name => [name, {}])) }
  const desk = await openFixture({ mcpServers, agents: { ada: all, bob: all } })
  const [ada, bob] = await Promise.all([desk.connect('auto', { agent: 'ada' }), desk.connect('auto', { agent: 'bob' })])
  return { desk, ada, bob }
}

/** A server that shows Ada another `echo` than the one that was looked at, which Bob has. */
export async function openDiffering(): Promise<TwoAgents> {
  const agents = { ada: { env: { ECHO_TEXT: 'Says something else.' } } }
  const both = await openForTwo({ desk: { ...program(SDK_SERVER), agents } })
  await expect.poll(() => textOf(both.bob, 'desk_echo', { text: 'hi' })).toBe('hi')
  return both
}
