import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { freshFolder } from '../src/testing/store-contract/stage.ts'
import { tempProject } from '../src/testing/temp-project.ts'
import { onFixture, program, SDK_SERVER, startHttpServer, textOf } from './support/upstream-fixture.ts'

/** With all that a shell, a pattern or a second reading would take for something of its own. */
const SPIKY = ' a b$HOME ${secret:PLAIN} $${X} $& "q" \\n %41=é '
/** The same as far as a header can say it. */
const SPIKY_HEADER = 'a+b/c==$HOME${secret:PLAIN}$${X}$&"q"\\n%41'

/** An `up` with these secrets and these servers, all of them given to the agent. */
async function openWith(secrets: Record<string, string>, mcpServers: Record<string, unknown>) {
  const capabilities = Object.fromEntries(Object.keys(mcpServers).map(name => [name, {}]))
  const project = await tempProject({
    'quartermaster.config.json': { mcpServers },
    'agents/default.json': { capabilities },
  })
  await mkdir(project.path('.quartermaster'), { mode: 0o700 })
  await project.write('.quartermaster/secrets.json', JSON.stringify(secrets), 0o600)
  const fixture = await onFixture(project.dir)
  return { ...fixture, project, client: await fixture.connect() }
}

describe('a secret that the entry of a server names', () => {
  it('reaches a program as its variable, exactly, alone and within a text, and nothing else of the secrets does', async () => {
    const env = { KEY: '${secret:SPIKY}', DSN: 'db://me:${secret:PLAIN}@host', TWO: '${secret:PLAIN}${secret:PLAIN}' }
    const secrets = { SPIKY, PLAIN: 'hush-hush', OTHER: 'not-yours' }
    const { client } = await openWith(secrets, { near: { ...program(SDK_SERVER), env } })
    const variable = (name: string) => textOf(client, 'near_variable', { name })
    await expect.poll(() => variable('KEY')).toBe(SPIKY)
    expect(await variable('DSN')).toBe('db://me:hush-hush@host')
    expect(await variable('TWO')).toBe('hush-hushhush-hush')
    const { names } = JSON.parse(await textOf(client, 'near_environment')) as { names: string[] }
    expect(names).toEqual(expect.arrayContaining(['DSN', 'KEY', 'TWO']))
    for (const name of ['SPIKY', 'PLAIN', 'OTHER']) expect(names).not.toContain(name)
  })

  it('reaches an address as its header, exactly, with every request', async () => {
    const log = join(await freshFolder(), 'log')
    const { url } = await startHttpServer(`--token=${SPIKY_HEADER}`, `--log=${log}`)
    const headers = { Authorization: 'Bearer ${secret:FAR}' }
    const { client } = await openWith({ FAR: SPIKY_HEADER, PLAIN: 'hush-hush' }, { far: { url, headers } })
    await expect.poll(() => textOf(client, 'far_echo', { text: 'hi' })).toBe('hi')
    const sent = (await readFile(log, 'utf8')).split('\n').filter(line => line.startsWith('authorization: '))
    expect(new Set(sent)).toEqual(new Set([`authorization: Bearer ${SPIKY_HEADER}`]))
  })

  it('is the new one after a reload, for a program and for an address', async () => {
    const log = join(await freshFolder(), 'log')
    const { url } = await startHttpServer(`--log=${log}`)
    const { client, project, run } = await openWith(
      { KEY: 'first' },
      {
        near: { ...program(SDK_SERVER), env: { KEY: '${secret:KEY}' } },
        far: { url, headers: { Authorization: 'Bearer ${secret:KEY}' } },
      },
    )
    const variable = () => textOf(client, 'near_variable', { name: 'KEY' })
    await expect.poll(variable).toBe('first')
    await expect.poll(() => textOf(client, 'far_echo', { text: 'hi' })).toBe('hi')
    await project.write('.quartermaster/secrets.json', '{ "KEY": "second" }', 0o600)
    expect((await run('reload')).code).toBe(0)
    await expect.poll(variable).toBe('second')
    const sent = async () => {
      await textOf(client, 'far_echo', { text: 'hi' })
      return (await readFile(log, 'utf8')).split('\n').findLast(line => line.startsWith('authorization: '))
    }
    await expect.poll(sent).toBe('authorization: Bearer second')
  })
})
