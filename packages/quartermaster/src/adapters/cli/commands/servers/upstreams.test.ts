import { describe, expect, it } from 'vitest'
import { NOTES } from '../../../../testing/cli-fixtures.ts'
import { BROKEN, runUpstreams } from '../../../../testing/upstreams-command.ts'

describe('upstreams', () => {
  it('are a table with what to do next', async () => {
    expect(await runUpstreams([])).toMatchObject({
      code: 0,
      stdout:
        'NAME   STATE  ERA     TOOLS      RESTARTS  LATENCY  LAST ERROR\n' +
        'notes  up     legacy  3          2         2.3 ms\n' +
        'mail   down           0, 2 held  7                  It ended with 1.\n' +
        '  └ Look at what is held: quartermaster upstreams review mail\n',
    })
    expect(JSON.parse((await runUpstreams(['--json'])).stdout)).toHaveLength(2)
  })

  it('say of what they offer that something was found in it, and where to look', async () => {
    const statuses = [{ ...NOTES, tools: { offered: 3, held: 1, rejected: 2 }, warned: 1 }]
    expect((await runUpstreams([], { statuses })).stdout).toContain('3, 1 held, 2 rejected, 1 warning')
    const warned = [{ ...NOTES, warned: 2 }]
    expect((await runUpstreams([], { statuses: warned })).stdout).toMatch(
      /3, 2 warnings [^]*found in it: quartermaster upstreams review notes/,
    )
    expect((await runUpstreams(['restart', 'notes'], { statuses: warned })).stdout).toContain(
      'with 3 tools, 2 warnings (quartermaster upstreams review notes).',
    )
  })

  it('say what is held beside their tools, and where to look', async () => {
    const statuses = [{ ...NOTES, othersHeld: 7 }]
    const step = 'Look at what is held: quartermaster upstreams review notes'
    expect((await runUpstreams([], { statuses })).stdout).toMatch(new RegExp(`3, 7 others held [^]*└ ${step}\n`))
    const { stdout } = await runUpstreams(['show', 'notes'], { statuses })
    expect(stdout).toMatch(/^Held +7 beside its tools: instructions, prompts or resources$/m)
    expect(stdout).toMatch(new RegExp(`^Next +${step}$`, 'm'))
    expect((await runUpstreams(['show', 'notes'])).stdout).not.toContain('Held')
  })

  it('say of a server that lists more than is used that this is not all of it, and where to look', async () => {
    const statuses = [{ ...NOTES, isCut: true as const }]
    const told = 'It lists more than is used: quartermaster doctor'
    expect((await runUpstreams([], { statuses })).stdout).toContain(`└ ${told}\n`)
    expect((await runUpstreams(['show', 'notes'], { statuses })).stdout).toMatch(new RegExp(`^Not all +${told}$`, 'm'))
    expect((await runUpstreams(['show', 'notes'])).stdout).not.toContain('Not all')
  })

  it('hide nothing that stands in a table', async () => {
    const message = `no\u200bthing${' '.repeat(400)}here`
    const statuses = [{ ...NOTES, lastError: { message, at: 0 } }]
    expect((await runUpstreams([], { statuses })).stdout).toContain('no\\u{200b}thing[400 spaces]here')
  })

  it('say how to begin where there are none', async () => {
    expect(await runUpstreams([], { statuses: [] })).toMatchObject({
      stdout: '',
      stderr: expect.stringContaining('quartermaster add'),
    })
  })

  it('are shown one by one', async () => {
    const { stdout } = await runUpstreams(['show', 'notes'])
    expect(stdout).toContain('Reached by   stdio: npx -y notes@1.0.0')
    expect(stdout).toContain('Latency      half within 2.3 ms, 99 % within 42 ms (12 calls)')
    expect(stdout).not.toContain('Not asked')
    const crowded = { ...NOTES, unasked: { questions: 2, lastAt: 0 } }
    expect((await runUpstreams(['show', 'notes'], { statuses: [crowded] })).stdout).toMatch(
      // A token of its own tells a client from another one, and leaves both on the agent's connection.
      /^Not asked +2 questions, the last .* ago: several clients had calls under way, or had cancelled some shortly before\. .*give each client an agent of its own\.$/m,
    )
    expect(await runUpstreams(['show', 'nots'])).toMatchObject({
      code: 4,
      stderr: expect.stringContaining('Did you mean "notes"?'),
    })
  })

  it('that need a login say once how to sign in', async () => {
    const reason = '"notes" lets nobody in who has not signed in. Sign in: quartermaster login notes.'
    const status = { ...NOTES, state: 'needsLogin' as const, reason, lastError: { message: reason, at: 0 } }
    for (const argv of [[], ['show', 'notes'], ['restart', 'notes']]) {
      const { stdout } = await runUpstreams(argv, { statuses: [status] })
      expect(stdout.split('quartermaster login notes')).toHaveLength(2)
    }
    expect((await runUpstreams([], { statuses: [status] })).stdout).toContain(
      '"notes" lets nobody in who has not signed in.\n  └ Sign in: quartermaster login notes\n',
    )
    expect((await runUpstreams(['restart', 'notes'], { statuses: [status] })).stdout).toBe(
      '✗ "notes" was restarted; it needs a login (quartermaster login notes).\n',
    )
  })

  it('that are switched off are not said to have been started', async () => {
    const reason = 'It is switched off. Its entry has "enabled": false.'
    for (const from of ['up', 'process'] as const)
      expect(
        await runUpstreams(['restart', 'notes'], { statuses: [{ ...NOTES, state: 'off', reason }], from }),
      ).toMatchObject({ code: 1, stdout: `✗ "notes" was not started: ${reason}\n` })
  })

  it('that need the login of one agent say whose', async () => {
    const login = 'quartermaster login notes --agent bob'
    const status = { ...NOTES, state: 'needsLogin' as const, reason: `"notes" lets nobody in. Sign in: ${login}` }
    for (const argv of [[], ['show', 'notes'], ['restart', 'notes']]) {
      const { stdout } = await runUpstreams(argv, { statuses: [status] })
      expect(stdout.split(login)).toHaveLength(2)
      expect(stdout.split('quartermaster login')).toHaveLength(2)
    }
  })

  it('say of an agent whose own connection fails why', async () => {
    const statuses = [{ ...NOTES, failing: [{ agent: 'bob', reason: 'HTTP 500.' }] }]
    expect((await runUpstreams(['show', 'notes'], { statuses })).stdout).toMatch(/^For "bob" +HTTP 500\.$/m)
    const told = statuses.map(status => ({ ...status, lastError: { message: 'For "bob": HTTP 500.', at: 0 } }))
    expect((await runUpstreams(['show', 'notes'], { statuses: told })).stdout.split('HTTP 500.')).toHaveLength(2)
  })

  it('name the setting of a refused key instead of advising to sign in', async () => {
    const reason = '"notes" does not take the key that it is sent. Change "headers.Authorization" in its entry.'
    const status = { ...NOTES, state: 'keyRefused' as const, reason, lastError: { message: reason, at: 0 } }
    for (const argv of [[], ['show', 'notes'], ['restart', 'notes']]) {
      const { stdout } = await runUpstreams(argv, { statuses: [status] })
      expect(stdout).toContain('"headers.Authorization"')
      expect(stdout).not.toMatch(/login/)
    }
    expect((await runUpstreams([], { statuses: [status] })).stdout).toMatch(/^notes +key refused /m)
    expect((await runUpstreams(['restart', 'notes'], { statuses: [status] })).stdout).toBe(
      `✗ "notes" was restarted; it does not let us in: ${reason}\n`,
    )
  })

  it('say where to read what was said, if anything was', async () => {
    const status = { ...NOTES, state: 'down' as const, reason: 'There is no program "notes" on the PATH.' }
    for (const argv of [[], ['show', 'notes']]) {
      expect((await runUpstreams(argv, { statuses: [status] })).stdout).not.toContain('quartermaster logs')
      expect((await runUpstreams(argv, { statuses: [{ ...status, hasSpoken: true }] })).stdout).toContain(
        'See what it said: quartermaster logs notes\n',
      )
    }
  })

  it('name those that have not been listed yet, why, and what to do', async () => {
    const reason = 'It was never started.'
    const unseen = 'Have it started: quartermaster upstreams restart notes, or: quartermaster up'
    const statuses = [{ ...NOTES, state: 'idle' as const, reason, unseen }, BROKEN]
    expect((await runUpstreams([], { statuses })).stdout).toContain(`\n  └ Not seen yet. ${reason} ${unseen}\n`)
    const line = `"notes" has not been seen yet: ${reason} ${unseen}\n`
    const open = [{ ...BROKEN, reason: 'It ended: no good', unseen: 'Read it.' }]
    expect((await runUpstreams(['review'], { statuses: open, items: [] })).stderr).toContain(
      'yet: It ended: no good. Read it.\n',
    )
    expect((await runUpstreams(['review'], { statuses, items: [] })).stderr).toBe(`Nothing waits for you.\n${line}`)
    expect((await runUpstreams(['review', 'mail'], { statuses, items: [] })).stderr).not.toContain('has not been seen')
    expect(await runUpstreams(['review', '--json'], { statuses, items: [] })).toMatchObject({
      stdout: '[]\n',
      stderr: line,
    })
  })

  it('let no unlisted server write lines of ours', async () => {
    const statuses = [{ ...BROKEN, reason: 'It said: no\u001b[2J\nForged.', unseen: 'Read it.' }]
    expect((await runUpstreams(['review'], { statuses, items: [] })).stderr).toContain(
      'yet: It said: no\\x1b[2J Forged. Read it.\n',
    )
  })

  it('say why they are idle where no up keeps them', async () => {
    const idle = { ...NOTES, state: 'idle' as const, reason: 'It starts when it is needed.' }
    const shown = (more: object, ...argv: string[]) => runUpstreams(argv, { statuses: [idle], ...more })
    const why = 'No `quartermaster up` runs here to keep servers running: what is idle starts when it is needed.\n'
    expect(await shown({ from: 'process' })).toMatchObject({
      stderr: why,
      stdout: expect.stringMatching(/^notes +idle/m),
    })
    expect((await shown({ from: 'process' }, '--json')).stderr).toBe('')
    // There it is lazy.
    expect((await shown({ from: 'up' })).stderr).toBe('')
    expect((await shown({ from: 'process', statuses: [NOTES, { ...idle, unseen: 'Start it.' }] })).stderr).toBe('')
  })

  it.each([[[]], [['show', 'notes']]])('say of one that a command left starting how to wait for it: %s', async argv => {
    const reason = 'It was started and has not answered yet.'
    const unseen = 'Wait for it: quartermaster upstreams restart notes, or: quartermaster up'
    const starting = { ...NOTES, state: 'starting' as const, reason, unseen }
    const told = `Not seen yet. ${reason} ${unseen}\n`
    expect((await runUpstreams(argv, { statuses: [starting], from: 'process' })).stdout).toContain(told)
    // Who keeps it waits for it.
    expect((await runUpstreams(argv, { statuses: [starting] })).stdout).not.toContain('Not seen yet')
  })

  it('say of what may be downloading only once that it may', async () => {
    const unseen = 'Wait for it: quartermaster upstreams restart notes, or: quartermaster up'
    const reason = 'It may be downloading.'
    const statuses = [{ ...NOTES, state: 'starting' as const, reason, unseen, isFetching: true }]
    const { stdout } = await runUpstreams([], { statuses, from: 'process' })
    expect(stdout).toContain(`\n  └ ${reason}\n  └ Not seen yet. ${unseen}\n`)
  })

  it('say what they do not list, so that it is not used', async () => {
    const statuses = [{ ...NOTES, unlisted: ['tools', 'prompts'] }]
    const told =
      'It does not list its tools and prompts, and none of them is used until it does: quartermaster logs notes\n'
    expect((await runUpstreams([], { statuses })).stdout).toContain(`  └ ${told}`)
    expect((await runUpstreams(['show', 'notes'], { statuses })).stdout).toContain(`Not listed   ${told}`)
  })

  it('say which of their names are taken', async () => {
    const clashes = ['The tool name "read" is taken by upstream:files (upstreams). Give it another.']
    const statuses = [{ ...NOTES, clashes }]
    expect((await runUpstreams([], { statuses })).stdout).toContain(
      '\n  └ 1 name of it is taken: quartermaster upstreams show notes\n',
    )
    expect((await runUpstreams(['show', 'notes'], { statuses })).stdout).toContain(`Not offered  ${clashes[0]}\n`)
    const many = [{ ...NOTES, clashes: Array.from({ length: 9 }, () => 'Taken.') }]
    expect((await runUpstreams(['show', 'notes'], { statuses: many })).stdout).toContain(
      '4 more; see: quartermaster doctor\n',
    )
  })

  it('say the reason once, and with one full stop', async () => {
    const reason = 'It ended with exit code 1: Cannot read..'
    const status = { ...NOTES, state: 'down' as const, reason, lastError: { message: reason, at: 0 } }
    expect((await runUpstreams(['show', 'notes'], { statuses: [status] })).stdout).not.toContain('Last error')
    expect((await runUpstreams(['restart', 'notes'], { statuses: [status] })).stdout).toContain('Cannot read.\n')
  })

  it('suggest the right word for a mistyped one', async () => {
    expect(await runUpstreams(['reveiw'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('Did you mean "review"?'),
    })
  })
})
