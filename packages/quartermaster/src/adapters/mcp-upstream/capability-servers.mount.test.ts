import { describe, expect, it } from 'vitest'
import type { McpServerConfig, ResolverContext } from '../../contracts/index.ts'
import { sha256 } from '../system/index.ts'
import { type CapabilityServerRequest, createMount } from './capability-servers.ts'

const context = { agentDir: '.', workspaceDir: '.', agent: { name: 'ada', capabilities: {} } } as ResolverContext
const program: McpServerConfig = { type: 'stdio', command: 'node', args: ['server.mjs'], env: { A: 'b' } }

function stage({ isFull = false } = {}) {
  const asked: CapabilityServerRequest[] = []
  const mount = createMount({ digest: sha256, upstreams: { mount: request => asked.push(request) > 0 && !isFull } })
  return { asked, mount: (server: unknown) => mount({ key: 'printing', server: server as McpServerConfig, context }) }
}

describe('a server that a capability names', () => {
  it('becomes an upstream that starts when it is needed and stops when it is not', () => {
    const { asked, mount } = stage()
    expect(mount(program)).toEqual({ capability: expect.stringMatching(/^printing-[0-9a-f]{8}$/) })
    expect(asked).toMatchObject([
      {
        key: 'printing',
        agent: 'ada',
        config: { command: 'node', args: ['server.mjs'], env: { A: 'b' }, start: 'lazy', idleSeconds: 300 },
      },
    ])
  })
  it.each([
    ['one without a program', { type: 'stdio', command: '' }, 'cannot be mounted: command must not be empty'],
    ['one at no address', { type: 'http', url: 'file:///etc/passwd' }, 'must be an http: or https: URL'],
  ])('is not mounted, with the reason, when it is %s', (_, server, reason) => {
    const { asked, mount } = stage()
    expect(mount(server)).toEqual({ reason: expect.stringContaining(reason) })
    expect(asked).toEqual([])
  })
})
