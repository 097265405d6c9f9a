import type { Client } from '@modelcontextprotocol/client'
import { expect } from 'vitest'
import {
  type FixtureOptions,
  openFixture,
  program,
  SDK_SERVER,
  textOf,
  type UpstreamFixture,
} from './upstream-fixture.ts'

/** A fixture with two agents that have the same upstreams, and a client of each. */
export interface TwoAgents {
  readonly fixture: UpstreamFixture
  readonly ada: Client
  readonly bob: Client
}

export async function openForTwo(mcpServers: FixtureOptions['mcpServers']): Promise<TwoAgents> {
  const all = { capabilities: Object.fromEntries(Object.keys(mcpServers).map(name => [name, {}])) }
  const fixture = await openFixture({ mcpServers, agents: { ada: all, bob: all } })
  const [ada, bob] = await Promise.all([
    fixture.connect('auto', { agent: 'ada' }),
    fixture.connect('auto', { agent: 'bob' }),
  ])
  return { fixture, ada, bob }
}

/** A server that shows Ada another `echo` than the one that was looked at, which Bob has. */
export async function openDiffering(): Promise<TwoAgents> {
  const agents = { ada: { env: { ECHO_TEXT: 'Says something else.' } } }
  const both = await openForTwo({ desk: { ...program(SDK_SERVER), agents } })
  await expect.poll(() => textOf(both.bob, 'desk_echo', { text: 'hi' })).toBe('hi')
  return both
}
