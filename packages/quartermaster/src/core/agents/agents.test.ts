import { expect, it } from 'vitest'
import type { Events } from '../../contracts/index.ts'
import { createEmitter } from '../kernel/index.ts'
import { type AgentEntry, type AgentsDeps, createAgents } from './index.ts'

const entry = (name: string): AgentEntry => ({ name, file: `${name}.json`, hash: name, problems: [] })

it('tells of agents that are others than before, and not of those that are read first', async () => {
  let files = [entry('worker')]
  const emitter = createEmitter({ onError: () => {} })
  const told: Events['agents.reloaded'][] = []
  emitter.on('agents.reloaded', event => told.push(event))
  const deps = { emitter, store: { load: async () => files }, settings: { workspaceDepth: 5, gatewayViewOver: 20 } }
  const agents = createAgents(deps as unknown as AgentsDeps)
  await agents.reload()
  await agents.reload()
  files = [...files, entry('helper')]
  await agents.reload()
  expect(told).toEqual([
    { names: ['worker'], isSame: true },
    { names: ['worker'], isSame: true },
    { names: ['worker', 'helper'], isSame: false },
  ])
})
