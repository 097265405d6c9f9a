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

  it('may be reached over HTTP', () => {
    const { asked, mount } = stage()
    mount({ type: 'http', url: 'https://mcp.example.com/mcp', headers: { 'X-Key': 'k' } })
    expect(asked).toMatchObject([{ config: { url: 'https://mcp.example.com/mcp', headers: { 'X-Key': 'k' } } }])
  })

  it('is the same one when it is named again, and another with another configuration', () => {
    const { mount } = stage()
    expect(mount({ ...program })).toEqual(mount(program))
    expect(mount({ ...program, args: ['other.mjs'] })).not.toEqual(mount(program))
  })

  it.each([
    ['one inside this process', { type: 'sdk', name: 'x', instance: {} }, 'runs inside this process'],
    ['one without a program', { type: 'stdio', command: '' }, 'cannot be mounted: command must not be empty'],
    ['one at no address', { type: 'http', url: 'file:///etc/passwd' }, 'must be an http: or https: URL'],
    ['something else', { kind: 'server' }, 'cannot be mounted: '],
  ])('is not mounted, with the reason, when it is %s', (_, server, reason) => {
    const { asked, mount } = stage()
    expect(mount(server)).toEqual({ reason: expect.stringContaining(reason) })
    expect(asked).toEqual([])
  })

  it('is not mounted when there are too many', () => {
    expect(stage({ isFull: true }).mount(program)).toEqual({ reason: expect.stringContaining('more than 64') })
  })
})
