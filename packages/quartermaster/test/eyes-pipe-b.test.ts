import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { connect } from 'node:net'
import { expect, it } from 'vitest'
import { ILL_SERVER, openDesk, program } from './support/upstream-desk.ts'

it('pipelined', { timeout: 120_000 }, async () => {
  const desk = await openDesk({ mcpServers: { desk: program(ILL_SERVER) } })
  await expect.poll(async () => (await desk.status('desk'))?.state, { timeout: 15000 }).toBe('up')
  const token = await desk.tokenFor('default')
  const port = Number(new URL(desk.up.url).port)
  const admin = (await readFile(join(desk.dir, '.quartermaster', 'admin-token'), 'utf8')).trim()
  const gauges = async () => (await (await fetch(`${desk.up.url}/metrics`, { headers: { authorization: `Bearer ${admin}`, connection: 'close' } })).text()).split('\n').filter(l => /^quartermaster_(streams|sessions|requests|calls_total)/.test(l)).join(' | ')
  const meta = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {}, 'io.modelcontextprotocol/clientInfo': { name: 'x', version: '1' } }
  const request = (id: number, method: string, params: object, extra = '') => { const b = JSON.stringify({ jsonrpc: '2.0', id, method, params: { ...params, _meta: meta } }); return `POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nMcp-Protocol-Version: 2026-07-28\r\nMcp-Method: ${method}\r\n${extra}Content-Length: ${Buffer.byteLength(b)}\r\n\r\n${b}` }
  const listen = (id: number) => request(id, 'subscriptions/listen', { notifications: { toolsListChanged: true } })
  const slow = (id: number) => request(id, 'tools/call', { name: 'desk_slow', arguments: { ms: 25000 } }, 'Mcp-Name: desk_slow\r\n')
  const shoot = async (text: string) => {
    const socket = connect(port, '127.0.0.1'); socket.on('error', () => {}); socket.on('data', () => {})
    socket.write(text); await new Promise(r => setTimeout(r, 500))
    const during = await gauges(); socket.destroy(); await new Promise(r => setTimeout(r, 2000))
    return { during, after: await gauges() }
  }
  console.log('listen x5', await shoot([1, 2, 3, 4, 5].map(listen).join('')))
  console.log('slow x5', await shoot([1, 2, 3, 4, 5].map(slow).join('')))
  console.log('slow+listen x4', await shoot(slow(1) + [2, 3, 4, 5].map(listen).join('')))
  await new Promise(r => setTimeout(r, 10))
  console.log('30 s later', await gauges())
})
