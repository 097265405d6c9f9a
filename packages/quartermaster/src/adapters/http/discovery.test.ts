import { describe, expect, it, onTestFinished } from 'vitest'
import { startHttpServer } from '../../testing/http-server.ts'

async function started() {
  const server = await startHttpServer({
    allowedHosts: () => ['tools.example.org'],
    discovery: { mcpPath: '/mcp', protocolVersions: ['2026-07-28', '2025-11-25'] },
  })
  onTestFinished(() => server.close(0))
  return server
}

/** The request of a proxy, for a client that knows us by another name. */
const passedOn = (path: string, ...headers: string[]) =>
  [`GET ${path} HTTP/1.1`, 'Connection: close', ...headers, '', ''].join('\r\n')

describe('the server card', () => {
  it('says where to connect and that a token is needed, and nothing about agents or tools', async () => {
    const { url } = await started()
    const response = await fetch(`${url}/mcp/server-card`)
    expect(response.headers.get('content-type')).toBe('application/mcp-server-card+json')
    expect(await response.json()).toEqual({
      $schema: 'https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json',
      name: 'localhost/quartermaster',
      version: '1.2.3',
      title: 'Quartermaster',
      description: 'Issues AI agents the tools they are allowed to have, in working order.',
      remotes: [
        {
          type: 'streamable-http',
          url: `${url}/mcp`,
          headers: [expect.objectContaining({ name: 'Authorization', isRequired: true, isSecret: true })],
          supportedProtocolVersions: ['2026-07-28', '2025-11-25'],
        },
      ],
    })
  })

  it('names the place as the client reached it', async () => {
    const { raw } = await started()
    const card = await raw(passedOn('/mcp/server-card', 'Host: tools.example.org', 'X-Forwarded-Proto: https'))
    expect(card).toContain('"name":"org.example.tools/quartermaster"')
    expect(card).toContain('"url":"https://tools.example.org/mcp"')
  })

  it('is not given to one who asks by a name we do not have', async () => {
    const { raw } = await started()
    expect(await raw(passedOn('/mcp/server-card', 'Host: evil.example'))).toMatch(/^HTTP\/1\.1 403/)
  })
})

describe('the AI catalogue', () => {
  it('leads to the server card', async () => {
    const { url } = await started()
    const response = await fetch(`${url}/.well-known/ai-catalog.json`)
    expect(response.headers.get('content-type')).toBe('application/ai-catalog+json')
    const catalogue = (await response.json()) as { entries: { url: string; type: string }[] }
    expect(catalogue).toMatchObject({
      specVersion: '1.0',
      entries: [{ identifier: 'urn:air:localhost:quartermaster', displayName: 'Quartermaster' }],
    })
    const [entry] = catalogue.entries
    const card = await fetch(entry?.url ?? '')
    expect(card.headers.get('content-type')).toBe(entry?.type)
  })
})

describe('both documents', () => {
  it.each(['/mcp/server-card', '/.well-known/ai-catalog.json'])('can be cached, and only read: %s', async path => {
    const { url } = await started()
    const { headers } = await fetch(url + path)
    expect(headers.get('cache-control')).toBe('public, max-age=3600')
    expect(headers.get('vary')).toBe('Host, X-Forwarded-Proto')
    expect((await fetch(url + path, { method: 'POST' })).status).toBe(405)
  })
})
