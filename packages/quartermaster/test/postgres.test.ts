import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { ask, endConnections, hasPostgres, testDatabase } from '../src/testing/postgres/test-database.ts'
import { makeProject, quartermaster, startUp } from './support/product.ts'

const PASSWORD = 'hunter2-is-no-password'

/** A project, and an environment that names a database of its own; its address has a password. */
async function projectOnPostgres() {
  const url = new URL(await testDatabase())
  if (url.password === '') url.password = PASSWORD
  const dir = await makeProject({ 'agents/default.json': '{ "capabilities": { "files": { "dirs": ["."] } } }' })
  return { dir, url: url.href, password: url.password, env: { DATABASE_URL: url.href } }
}

const lookAround = (dir: string, env: Record<string, string>) =>
  Promise.all(
    [['status'], ['status', '--json'], ['doctor'], ['doctor', '--json'], ['tokens', '--json']].map(args =>
      quartermaster(args, { cwd: dir, env }),
    ),
  )

describe.runIf(hasPostgres())('`up` with a DATABASE_URL', () => {
  it('keeps everything there, says so, and never shows the password', async () => {
    const { dir, url, password, env } = await projectOnPostgres()
    const up = await startUp(dir, [], env)
    const token = await quartermaster(['tokens', 'create', 'default', '--json'], { cwd: dir, env })
    expect(token.code).toBe(0)
    const [status, statusJson, doctor, doctorJson, tokens] = await lookAround(dir, env)
    const place = expect.stringMatching(/^postgresql:\/\/\w+@/)
    expect(statusJson?.json()).toMatchObject({ store: { kind: 'postgresql', place, answers: true } })
    expect(status?.stdout).toMatch(/Store\s+postgresql:/)
    expect(doctor?.stdout).toMatch(/The store postgresql:\S+ \(PostgreSQL \d+\.\d+\) answers/)
    expect((await fetch(`${up.url}/ready`)).status).toBe(200)
    expect(await ask(url, 'select count(*)::int as n from tokens')).toEqual([{ n: 1 }])
    expect(existsSync(join(dir, '.quartermaster', 'store.db'))).toBe(false)
    expect(await up.stop()).toBe(0)
    const shown = [status, statusJson, doctor, doctorJson, tokens].map(one => `${one?.stdout}${one?.stderr}`)
    expect([...shown, up.stderr(), JSON.stringify(up.facts)].join('\n')).not.toContain(password)
    // The next one finds what this one has left.
    const again = await startUp(dir, [], env)
    const after = await quartermaster(['tokens', '--json'], { cwd: dir, env })
    expect(after).toMatchObject({ code: 0, stdout: tokens?.stdout })
    await again.stop()
  })

  it('goes on after its connections were ended', async () => {
    const { dir, url, env } = await projectOnPostgres()
    const up = await startUp(dir, [], env)
    await endConnections(url)
    expect((await quartermaster(['tokens', 'create', 'default', '--json'], { cwd: dir, env })).code).toBe(0)
    expect((await fetch(`${up.url}/ready`)).status).toBe(200)
  })

  it('keeps out one with another key, and lets in one that was given it', async () => {
    const { dir, env } = await projectOnPostgres()
    const up = await startUp(dir, [], env)
    const other = await makeProject()
    const second = await quartermaster(['up', '--port', '0', '--json'], { cwd: other, env })
    const message = expect.stringMatching(/sealed with another key.*QUARTERMASTER_SEALING_KEY/)
    expect(second.json()).toMatchObject({ error: { code: 'CONFIG_INVALID', message } })
    const key = (await readFile(join(dir, '.quartermaster', 'sealing-key'), 'utf8')).trim()
    const third = await startUp(other, [], { ...env, QUARTERMASTER_SEALING_KEY: key })
    expect([await third.stop(), await up.stop()]).toEqual([0, 0])
  })

  it('that cannot be used is reported by `up` and `doctor`, without the password', async () => {
    const { dir, password, env } = await projectOnPostgres()
    const wrong = new URL(env.DATABASE_URL)
    wrong.searchParams.set('options', '-csynchronous_commit=off')
    const broken = { DATABASE_URL: wrong.href }
    const up = await quartermaster(['up', '--port', '0', '--json'], { cwd: dir, env: broken })
    const message = expect.stringContaining('synchronous_commit is off')
    expect(up.json()).toMatchObject({ error: { code: 'CONFIG_INVALID', message } })
    const doctor = await quartermaster(['doctor', '--json'], { cwd: dir, env: broken })
    expect(doctor.code).toBe(1)
    expect(doctor.json<unknown[]>()).toContainEqual({ level: 'error', what: message })
    expect(`${up.stdout}${up.stderr}${doctor.stdout}${doctor.stderr}`).not.toContain(password)
  })
})
