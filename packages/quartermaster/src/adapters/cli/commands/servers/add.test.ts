import { describe, expect, it } from 'vitest'
import {
  type AddedUpstream,
  AppError,
  type Control,
  type ControlInput,
  type UpstreamStatus,
} from '../../../../contracts/index.ts'
import { NOTES } from '../../../../testing/cli-fixtures.ts'
import { createFakeCliHost } from '../../../../testing/cli-host.ts'
import { whileAdvancing } from '../../../../testing/fake-clock.ts'
import { runCli } from '../../index.ts'

interface Situation {
  answer?: Partial<AddedUpstream>
  /** What npm says. */
  version?: string
}

async function run(argv: string[], { answer = {}, version }: Situation = {}) {
  const asked: ControlInput<'addUpstream'>[] = []
  const addUpstream: Control['addUpstream'] = async input => {
    if (!input.dryRun) asked.push(input)
    return {
      name: input.name,
      file: '/project/quartermaster.config.json',
      outcome: 'added',
      status: NOTES,
      granted: ['default'],
      secrets: Object.keys(input.secrets ?? {}),
      problems: [],
      ...answer,
    }
  }
  const packageVersion = async (name: string) => {
    if (version === undefined) throw new AppError('DEPENDENCY_UNAVAILABLE', `npm knows no "${name}".`)
    return version
  }
  const { host, seen } = createFakeCliHost({ control: { addUpstream }, host: { packageVersion } })
  return { code: await runCli(['add', ...argv], host), asked, ...seen }
}

interface Starting {
  from: 'up' | 'process'
  more?: Partial<UpstreamStatus>
  upAfterMs?: number
  /** From here on it is not downloaded any more. */
  fetchedAfterMs?: number
}

/** Adds a program that a package runner starts for the first time. */
function startingFixture({ from, more, upAfterMs = Number.POSITIVE_INFINITY, fetchedAfterMs = upAfterMs }: Starting) {
  const status = { ...NOTES, state: 'starting' as const, reason: 'It is starting.', isFetching: true, ...more }
  const file = '/project/quartermaster.config.json'
  const control: Partial<Control> = {
    addUpstream: async ({ name }) => ({
      name,
      file,
      outcome: 'added',
      status,
      granted: ['default'],
      secrets: [],
      problems: [],
    }),
    upstreams: async () => {
      const now = waitedMs() < fetchedAfterMs ? status : { ...status, isFetching: false }
      return [waitedMs() < upAfterMs ? now : NOTES]
    },
  }
  const fixture = createFakeCliHost({ control, from })
  const startedAt = fixture.clock.now()
  const waitedMs = () => fixture.clock.now() - startedAt
  return { ...fixture, waitedMs, ended: runCli(['add', 'notes', '--', 'npx', '-y', 'notes@1.0.0'], fixture.host) }
}

describe('add', () => {
  it('adds a program, and says how it is and who has it', async () => {
    const { code, asked, stdout } = await run(['notes', '--', 'npx', '-y', 'notes@1.0.0', '--deep'])
    expect(asked).toEqual([
      {
        name: 'notes',
        entry: { command: 'npx', args: ['-y', 'notes@1.0.0', '--deep'] },
        secrets: {},
        wait: false,
        consent: 'destructive',
      },
    ])
    expect(code).toBe(0)
    expect(stdout).toBe(
      '✓ "notes" is added; it is up, with 3 tools. (/project/quartermaster.config.json)\n  Given to: default.\n',
    )
  })

  it('shows what it would run, write and give before any of it happens', async () => {
    const answer = { madeFile: true as const, secretsFile: '/data/secrets.json', consent: 'changing' as const }
    const words = [
      'a',
      '--env',
      'DB_TOKEN=hush',
      '--env',
      'NODE_OPTIONS=-r ./hush',
      '--',
      'db',
      '--token',
      'hush',
      'a b',
    ]
    const { stderr, stdout } = await run([...words.slice(0, 1), '--consent', 'changing', ...words.slice(1)], { answer })
    expect(stderr).toBe(
      [
        '"a" would be added:',
        "  Runs: db --token '${secret:A_TOKEN}' 'a b'",
        '  In the folder: /project',
        '  With the variables: DB_TOKEN, NODE_OPTIONS (! can make it run other code)',
        '  Would be given to default.',
        '  Would be written to /project/quartermaster.config.json (a new file: there is none in this folder or above), secrets to /data/secrets.json.',
        '  Tools that ask a person first: all but what the server says only reads (changing). Change it: quartermaster upstreams consent a CHOICE (destructive, changing, all, none)',
        '  An agent that has more than 40 tools by then sees five in their place, which find and call all of them (gatewayViewOver).',
        '',
      ].join('\n'),
    )
    expect(stdout).toMatch(/^✓ "a" is added/)
    const told = await run(['--json', ...words], { answer })
    expect({ ...told, stdout: JSON.parse(told.stdout) }).toMatchObject({
      stderr: '',
      stdout: {
        plan: {
          command: ['db', '--token', '${secret:A_TOKEN}', 'a b'],
          folder: '/project',
          variables: [{ name: 'DB_TOKEN' }, { name: 'NODE_OPTIONS', canRunCode: true }],
          secretsFile: '/data/secrets.json',
          consent: 'changing',
        },
      },
    })
    expect((await run(['a', '--', 'a'], { answer: { outcome: 'unchanged' } })).stderr).toBe('')
  })

  it.each([
    [{ tools: { offered: 1, held: 0 }, othersHeld: 7 }, '1 tool, 7 definitions held for review'],
    [{ tools: { offered: 1, held: 1 }, othersHeld: 7 }, '1 tool, 8 definitions held for review'],
    [{ tools: { offered: 1, held: 2 } }, '1 tool, 2 held for review'],
  ])('says how much is held, of its tools and of everything else: %j', async (more, held) => {
    const { stdout } = await run(['notes', '--', 'notes'], { answer: { status: { ...NOTES, ...more } } })
    expect(stdout).toContain(`it is up, with ${held} (quartermaster upstreams review notes).`)
  })

  it('says of a server that does not list its tools that it does not, and where to look', async () => {
    const status = { ...NOTES, tools: { offered: 0, held: 0 }, unlisted: ['tools'] }
    const { stdout } = await run(['notes', '--', 'npx', '-y', 'notes@1.0.0'], { answer: { status } })
    expect(stdout).toContain('! "notes" is added; it is up, and does not list its tools (quartermaster logs notes). (')
  })

  it('says of a server that lists more than is used that not all of it was taken, and where to look', async () => {
    const status = { ...NOTES, tools: { offered: 2_000, held: 0 }, isCut: true as const }
    const { stdout } = await run(['notes', '--', 'npx', '-y', 'notes@1.0.0'], { answer: { status } })
    expect(stdout).toContain(
      '"notes" is added; it is up, with 2000 tools, and lists more than is used (quartermaster doctor). (',
    )
  })

  it.each([
    [{ granted: [] }, 'Given to no agent. Give it: quartermaster grant AGENT notes'],
    [{ granted: [], alsoHave: ['ada'] }, 'Still with: ada. Take it away: quartermaster grant ada notes --revoke'],
    [
      { granted: ['bob'], alsoHave: ['ada', 'eve'] },
      'Given to: bob. Still with: ada, eve. Take it away: quartermaster grant ada notes --revoke',
    ],
    [
      { granted: ['default'], madeAgent: 'default' },
      'Given to: default (made now, as the first agent here; it may also read the project folder).',
    ],
  ])('says who has it: %j', async (answer, line) => {
    expect((await run(['notes', '--', 'notes'], { answer })).stdout).toContain(`\n  ${line}\n`)
  })

  it.each([
    [
      'up' as const,
      {},
      'it is still starting, and may be downloading what it runs (see how it is: quartermaster upstreams)',
    ],
    [
      'process' as const,
      { isFetching: false },
      'it did not get ready in time; it is started again by quartermaster up',
    ],
  ])('waits some seconds for a program that starts, with %s, and says what becomes of it', async (from, more, how) => {
    const fixture = startingFixture({ from, more })
    expect(await whileAdvancing(fixture.clock, fixture.ended, 1_000)).toBe(0)
    expect(fixture.waitedMs()).toBeLessThan(20_000)
    expect(fixture.seen.stdout).toBe(
      `! "notes" is added; ${how}. (/project/quartermaster.config.json)\n  Given to: default.\n`,
    )
  })

  it('does not interrupt a download that no other process continues', async () => {
    const fixture = startingFixture({ from: 'process', upAfterMs: 100_000, fetchedAfterMs: 97_000 })
    expect(await whileAdvancing(fixture.clock, fixture.ended, 1_000)).toBe(0)
    expect(fixture.seen.stdout).toContain('✓ "notes" is added; it is up, with 3 tools.')
    const line = 'Waiting for notes · 0/1 ready; notes may be downloading what it runs, and Ctrl-C leaves it'
    expect(fixture.seen.stderr.split('\n').filter(text => text.startsWith('Waiting'))).toEqual([
      line,
      expect.stringMatching(/leaves it · 3\d s$/),
      expect.stringMatching(/leaves it · 6\d s$/),
      expect.stringMatching(/leaves it · 9\d s$/),
    ])
  })

  it('can be left while it waits, and says what was done', async () => {
    const fixture = startingFixture({ from: 'process', upAfterMs: Number.POSITIVE_INFINITY })
    fixture.clock.after(30_000, fixture.interrupt)
    expect(await whileAdvancing(fixture.clock, fixture.ended, 1_000)).toBe(130)
    expect(fixture.seen.stdout).toContain(
      '! "notes" is added; it was left before it was ready; it is started again by quartermaster up.',
    )
  })

  it('adds an address', async () => {
    const { asked } = await run([
      'search',
      'https://search.example/mcp',
      '--header',
      'X-Team: red',
      '--lazy',
      '--per-agent',
    ])
    expect(asked).toMatchObject([
      {
        name: 'search',
        entry: {
          type: 'http',
          url: 'https://search.example/mcp',
          headers: { 'X-Team': 'red' },
          start: 'lazy',
          connection: 'perAgent',
        },
      },
    ])
  })

  it('puts secrets where they belong', async () => {
    const { asked, stdout } = await run([
      ...['db', '--env', 'DB_PASSWORD=hush', '--env', 'MODE=fast', '--cwd', 'data'],
      ...['--', 'db-server', '--token', 'psst'],
    ])
    expect(asked).toEqual([
      {
        name: 'db',
        entry: {
          command: 'db-server',
          args: ['--token', '${secret:DB_TOKEN}'],
          env: { DB_PASSWORD: '${secret:DB_PASSWORD}', MODE: 'fast' },
          cwd: '/project/data',
        },
        secrets: { DB_PASSWORD: 'hush', DB_TOKEN: 'psst' },
        wait: false,
        consent: 'destructive',
      },
    ])
    expect(stdout).toContain('Kept in the secrets file: DB_PASSWORD, DB_TOKEN.')
    expect(stdout).toContain('A secret is among its arguments, which other accounts on this machine can read with ps.')
    expect((await run(['db', '--env', 'DB_PASSWORD=hush', '--', 'db'])).stdout).not.toContain('among its arguments')
    const header = await run(['a', 'https://a.example', '--header', 'Authorization=Bearer abc'])
    expect(header.asked).toMatchObject([
      {
        entry: { headers: { Authorization: 'Bearer ${secret:A_AUTHORIZATION}' } },
        secrets: { A_AUTHORIZATION: 'abc' },
      },
    ])
  })

  it('says what became of the secrets of the one it replaced', async () => {
    const answer = {
      outcome: 'replaced' as const,
      removedSecrets: ['OLD'],
      keptSecrets: [{ name: 'B', usedBy: ['c.json'] }],
    }
    expect((await run(['a', '--replace', '--', 'a'], { answer })).stdout).toContain(
      '  Taken out of the secrets file: OLD.\n  Still in the secrets file: B, named in c.json.\n',
    )
  })

  it('gives it to the named agents', async () => {
    const grants = async (...words: string[]) => (await run(['a', ...words, '--', 'a'])).asked[0]
    expect(await grants()).not.toHaveProperty('grant')
    expect(await grants('--no-grant')).toMatchObject({ grant: false })
    expect(await grants('--agent', 'ada', '--agent', 'bob', '--replace')).toMatchObject({
      grant: ['ada', 'bob'],
      replace: true,
    })
    expect((await run(['a', '--agent', 'ada', '--no-grant', '--', 'a'])).code).toBe(2)
  })

  it('warns of a package without a version, and pins it on request', async () => {
    const warned = await run(['a', '--', 'npx', '-y', '@x/a'])
    expect(warned.stdout).toContain('"@x/a" has no version')
    const pinned = await run(['a', '--pin', '--', 'npx', '-y', '@x/a'], { version: '2.1.0' })
    expect(pinned.asked).toMatchObject([{ entry: { args: ['-y', '@x/a@2.1.0'] } }])
    expect(pinned.stdout).toContain('Pinned: @x/a@2.1.0.')
    const offline = await run(['a', '--pin', '--', 'npx', '-y', '@x/a'])
    expect(offline).toMatchObject({ code: 0, stdout: expect.stringContaining('Not pinned: npm knows no "@x/a".') })
    expect((await run(['a', '--pin', '--', 'uvx', 'a'])).stdout).toContain('Only packages of npm')
  })

  it('says behind which arguments a secret may be left', async () => {
    const { asked, stdout } = await run(['a', '--', 'npx', '-y', 'a@1.0.0', '-p', 'hunter2', '--password', 'hunter3'])
    expect(asked).toMatchObject([{ secrets: { A_PASSWORD: 'hunter3' } }])
    expect(stdout).toContain('What stands behind -p among its arguments may be a secret')
  })

  it('leaves to the shell of a script what is its own', async () => {
    const script = 'A=1; x ${A} ${A:-${B}} "${@}" $${C} ${secret:KEY} ${env:HOME}'
    expect((await run(['a', '--', 'sh', '-c', script, '${A}'])).asked).toMatchObject([
      { entry: { args: ['-c', 'A=1; x $${A} $${A:-$${B}} "$${@}" $${C} ${secret:KEY} ${env:HOME}', '${A}'] } },
    ])
  })

  it('is content with a server that does not work, and says why', async () => {
    const status = { ...NOTES, state: 'down' as const, reason: 'spawn nots ENOENT\u001b[2J' }
    const { code, stdout } = await run(['notes', '--', 'nots'], { answer: { status, granted: [] } })
    expect(code).toBe(0)
    expect(stdout).toContain('! "notes" is added; it is down: spawn nots ENOENT\\x1b[2J.')
    expect(stdout).toContain('Given to no agent. Give it: quartermaster grant AGENT notes')
  })

  it('shows what keeps it from being used', async () => {
    const problems = [
      {
        severity: 'error' as const,
        code: 'CONFIG_INVALID' as const,
        where: 'c.json:1:1',
        message: 'The secret "X" is not there.',
        fix: 'Add it.',
      },
    ]
    const { stdout } = await run(['a', '--', 'a'], { answer: { problems } })
    expect(stdout).toContain('The secret "X" is not there.')
    expect(stdout).toContain('Fix: Add it.')
  })

  it('answers programs in JSON, without a secret in it', async () => {
    const { stdout } = await run(['a', '--json', '--env', 'TOKEN=hush', '--', 'a', '--json'])
    expect(JSON.parse(stdout)).toMatchObject({ name: 'a', outcome: 'added', secrets: ['TOKEN'], notes: [] })
    expect(stdout).not.toContain('hush')
  })

  it.each([
    [['a']],
    [['a', 'https://a.example', 'more']],
    [['a', 'https://a.example', '--env', 'A=1']],
    [['a', '--header', 'A=1', '--', 'a']],
    [['a', '--env', 'hush', '--', 'a']],
    [['a', 'ftp://a.example']],
    [['a', '--', 'ws://a.example']],
  ])('does not understand %j', async argv => {
    const { code, asked, stderr } = await run(argv)
    expect({ code, asked }).toEqual({ code: 2, asked: [] })
    expect(stderr).not.toContain('hush')
  })

  it.each([
    ['Authorization: Bearer', 'the header "Authorization" has no token behind "Bearer"'],
    ['Authorization=Bearer ', 'the header "Authorization" has no token behind "Bearer"'],
    ['authorization: basic', 'the header "authorization" has no token behind "basic"'],
    ['X-Api-Key=', 'the header "X-Api-Key" has no value'],
    ['X-Api-Key:  ', 'the header "X-Api-Key" has no value'],
  ])('keeps no header that says nothing: %s', async (header, said) => {
    const { code, asked, stderr } = await run(['a', 'https://a.example/mcp', '--header', header])
    expect({ code, asked }).toEqual({ code: 2, asked: [] })
    expect(stderr).toContain(`${said}. `)
  })

  it.each(['Authorization=${env:TOKEN}', 'Authorization: Bearer ${env:TOKEN}', 'X-Mode: basic'])(
    'keeps a header that says something: %s',
    async header => {
      const { code, asked } = await run(['a', 'https://a.example/mcp', '--header', header])
      expect({ code, added: asked.length }).toEqual({ code: 0, added: 1 })
    },
  )

  it.each([
    [['a', 'npx', '-y', 'hush'], "unknown option '-y'\nWrite -- before the program: quartermaster add a -- npx …\n"],
    [['a', 'npx', '--pim', 'a'], "unknown option '--pim'\n(Did you mean --pin?)\n"],
    [['npx', '-y', 'hush'], "unknown option '-y'\nWrite -- before the program: quartermaster add NAME -- npx …\n"],
    [['a', '-y'], "unknown option '-y'\nSee:"],
    [['-y', 'a'], "unknown option '-y'\nSee:"],
    [['a', '-e', 'K=hush', '--', 'npx', '-y', 'b'], "unknown option '-e'\nSee:"],
    [['a', '-t', 'stdio', 'npx', 'hush'], "unknown option '-t'\nSee:"],
    [['a', 'https://a.example/mcp', '-y'], "unknown option '-y'\nSee:"],
    [['--', 'npx', '-y', 'hush'], 'say what it is called, before the --: NAME -- COMMAND ARGUMENTS.\n'],
    [['--lazy', '--', 'node', 'hush'], 'say what it is called, before the --: NAME -- COMMAND ARGUMENTS.\n'],
    [['a', '--', '-y', 'hush'], 'say which program "-y" is for: -- COMMAND ARGUMENTS.\n'],
  ])('says of %j where its words belong', async (argv, said) => {
    const { code, asked, stderr } = await run(argv)
    expect({ code, asked }).toEqual({ code: 2, asked: [] })
    expect(stderr).toContain(said)
    expect(stderr).not.toContain('hush')
  })
})

describe('add where the up goes away', () => {
  it('says how to go on, and speaks of no tool', async () => {
    const message = 'The "up" at http://127.0.0.1:1 does not answer any more. Start it again with "quartermaster up".'
    const gone = new AppError('DEPENDENCY_UNAVAILABLE', message, { details: { url: 'http://127.0.0.1:1' } })
    const { host, seen } = createFakeCliHost({ control: { addUpstream: () => Promise.reject(gone) }, from: 'up' })
    expect(await runCli(['add', 'a', '--', 'a'], host)).toBe(5)
    expect(seen.stderr).toBe(`Error: ${message}\n(DEPENDENCY_UNAVAILABLE)\n`)
  })
})

describe('an address that is none', () => {
  it('is not taken for a program, and the ways there are get named', async () => {
    const { stderr } = await run(['a', 'ftp://me:hush@a.example'])
    expect(stderr).toContain('"ftp:" is not spoken here')
    expect(stderr).toContain('http:// or https://')
    expect(stderr).toContain('-- COMMAND')
    expect(stderr).not.toContain('hush')
  })

  it.each(['mcp.example.com/mcp?key=hush', 'localhost:3000', '127.0.0.1:80/hush'])(
    'gets its beginning named when that was forgotten: %s',
    async address => {
      const { code, asked, stderr } = await run(['a', address])
      expect({ code, asked }).toEqual({ code: 2, asked: [] })
      expect(stderr).toMatch(/Write (?:https:\/\/mcp\.example\.com|http:\/\/(?:localhost:3000|127\.0\.0\.1:80))…/)
      expect(stderr).not.toContain('hush')
    },
  )
})
