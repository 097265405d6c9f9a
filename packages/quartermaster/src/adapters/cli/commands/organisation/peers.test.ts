import { describe, expect, it } from 'vitest'
import type { Control, ExternalPeerFacts } from '../../../../contracts/index.ts'
import { createFakeCliHost } from '../../../../testing/cli-host.ts'
import { runCli } from '../../index.ts'

const PAINTER: ExternalPeerFacts = {
  id: 'ws_9',
  organisation: 'default',
  name: 'painter',
  role: 'art',
  description: 'Paints.\u001b[31m',
  parent: { id: 'ws_1', name: 'root' },
  status: 'active',
  presence: 'online',
  capacity: 16,
  createdAt: 1_700_000_000_000,
  cardUrl: 'https://there.example/.well-known/agent-card.json',
  url: 'https://there.example/a2a',
  binding: 'JSONRPC',
  streaming: true,
  secret: 'PAINTER',
  header: null,
  hosts: [],
  skills: [{ id: 'paint', name: 'Paint', description: '' }],
  checkedAt: 1_700_000_000_000,
  error: null,
}

async function run(args: readonly string[], facts: Partial<ExternalPeerFacts> = {}) {
  const asked: [string, unknown][] = []
  const answer = (operation: string) => async (input: unknown) => {
    asked.push([operation, input])
    const one = { ...PAINTER, ...facts }
    return (operation === 'externalPeers' ? [one] : one) as never
  }
  const operations = ['externalPeers', 'externalPeer', 'addExternalPeer', 'refreshExternalPeer', 'removeExternalPeer']
  const control = Object.fromEntries(operations.map(name => [name, answer(name)])) as Partial<Control>
  const { host, seen } = createFakeCliHost({ control })
  const code = await runCli(args, host)
  return { code, asked, out: seen.stdout, err: seen.stderr }
}

describe('peers', () => {
  it('adds one with all that can be said about it', async () => {
    const options = ['--secret', 'PAINTER', '--header', 'X-Key', '--host', 'a.internal', '--host', 'b.internal']
    const more = ['--capacity', '4', '--parent', 'default', '--role', 'art', '--organisation', 'acme']
    const { code, asked, out } = await run(['peers', 'add', 'painter', 'https://there.example', ...options, ...more])
    expect(asked).toEqual([
      [
        'addExternalPeer',
        {
          name: 'painter',
          cardUrl: 'https://there.example',
          secret: 'PAINTER',
          header: 'X-Key',
          hosts: ['a.internal', 'b.internal'],
          capacity: 4,
          parent: 'default',
          role: 'art',
          organisation: 'acme',
        },
      ],
    ])
    expect([code, out]).toEqual([0, '✓ "painter" is a peer: ws_9\n'])
  })

  it.each(['0', '65', 'many'])('takes no capacity of %s', async capacity => {
    const { code, err } = await run(['peers', 'add', 'painter', 'https://there.example', '--capacity', capacity])
    expect(code).not.toBe(0)
    expect(err).toContain('Write a whole number from 1 to 64.')
  })

  it('lists them, and shows one with nothing of its words that moves a cursor', async () => {
    expect((await run(['peers', 'list'])).out).toContain('painter')
    const { out } = await run(['peers', 'show', 'painter'])
    expect(out).toContain('https://there.example/a2a (JSONRPC, streaming)')
    expect(out).toContain('PAINTER, sent as a bearer token')
    expect(out).not.toContain('\u001b[31m')
  })

  it('says after a look whether it is there, and that it was taken out', async () => {
    expect((await run(['peers', 'refresh', 'painter'])).out).toBe('✓ "painter" is there.\n')
    const gone = await run(['peers', 'refresh', 'painter'], { error: 'nothing listens there.' })
    expect(gone.out).toBe('✗ "painter" is not there: nothing listens there.\n')
    expect((await run(['peers', 'remove', 'painter'])).out).toBe('✓ "painter" is no peer any more.\n')
  })
})
