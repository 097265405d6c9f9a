import { describe, expect, it } from 'vitest'
import type { AgentSummary, ForeignServers } from '../../../../contracts/index.ts'
import { ASKS, FOUND, runImport as run, server } from '../../../../testing/import-fixture.ts'

describe('import', () => {
  it('has a line for each server and for each note, whatever a client calls them', async () => {
    const forged = 'x\n✓ files (Cursor): it is up, with 9 tools.'
    const named = server(forged, { as: 'x', notes: [`Not taken over: ${forged}.`] })
    const skipped = server(forged, { as: 'y', entry: undefined, skipped: `"${forged}" is another one.` })
    const asking = server('z', { asks: [{ id: 'key', secret: 'KEY', prompt: forged, isHidden: true }] })
    const found = { places: [], servers: [named, skipped, asking] }
    const { stdout } = await run(['./mcp.json', '--dry-run'], { found })
    expect(stdout.split('\n').map(line => line.slice(0, 5))).toEqual([
      '+ x (',
      '  Run',
      '  In ',
      '  Wou',
      '  Sti',
      '  Not',
      '- y (',
      '+ z (',
      '  Run',
      '  In ',
      '  Wou',
      '  Sti',
      '  It ',
      'Would',
      'An ag',
      '0 imp',
      '',
    ])
  })

  it('without a source lists what other clients have, and imports nothing', async () => {
    const { code, asked, stdout, stderr } = await run([])
    expect({ code, asked }).toEqual({ code: 0, asked: [] })
    expect(stdout).toContain('git hub  Claude Desktop  gh')
    expect(stdout).toContain('for /work/other alone; imported when named')
    expect(stdout).toContain('! /home/me/.cursor/mcp.json: It is not JSON.')
    // As many as `--all` takes: what is for another folder alone comes by its name.
    expect(stderr).toBe(
      '2 servers can be imported: quartermaster import --all, or name a client or servers\n1 server for other folders can be imported by name: quartermaster import NAME\n',
    )
    expect((await run(['--json'])).stdout).not.toContain('hush')
  })

  it.each([
    [server('far', { elsewhere: '/work/other' }), '1 server for other folders can be imported by name: '],
    [server('old', { entry: undefined, skipped: 'It is old.' }), 'None of them can be imported. Name a file: '],
  ])('without a source offers nothing that would not come', async (only, hint) => {
    const { stderr } = await run([], { found: { places: [], servers: [only] } })
    expect(stderr.startsWith(hint)).toBe(true)
    expect(stderr).not.toContain('--all')
  })

  it('takes over everything of a source that is for this folder, one by one, and sums it up', async () => {
    const { code, asked, sources, stdout } = await run(['claude'])
    expect({ code, sources }).toEqual({ code: 0, sources: [{ source: 'claude' }] })
    expect(asked).toEqual([
      {
        name: 'git-hub',
        entry: { command: 'gh', env: { TOKEN: '${secret:TOKEN}' } },
        secrets: { TOKEN: 'hush' },
        replace: false,
        wait: false,
        consent: 'destructive',
      },
      {
        name: 'files',
        entry: { command: 'npx', args: ['-y', 'files'] },
        secrets: {},
        replace: false,
        wait: false,
        consent: 'destructive',
      },
    ])
    expect(stdout).toContain(
      '✓ git-hub (Claude Desktop, "git hub" there): it is up, with 3 tools\n  Given to: default.\n  Kept in the secrets file: TOKEN.\n',
    )
    expect(stdout).toContain('  Not taken over: gallery.\n')
    expect(stdout).toContain('"files" has no version')
    expect(stdout).toContain('- old (Claude Desktop): It uses the older transport "sse".\n')
    expect(stdout).toMatch(/\n2 imported, 1 skipped\.\n$/)
    expect(stdout).not.toContain('hush')
  })

  it('asks once which tools of all servers ask a person, with how many each choice stops', async () => {
    const terminal = { stdin: true, stderr: true }
    const { chosen, stdout, stderr, questions } = await run(['claude', '--pin'], {
      asks: ASKS,
      terminal,
      answers: ['y', 'what?', 'chang'],
    })
    expect(questions).toEqual(['Import and start these 2? [y/N] ', 'Choose [destructive]: ', 'Choose [destructive]: '])
    expect(stderr).toContain(
      'Which tools of git-hub, files ask a person before they run?\n  destructive 4 of 6 tools: ',
    )
    expect(stderr).toMatch(
      /^ {2}changing {4}6 of 6 tools: .*\n {2}all {9}6 of 6 tools: .*\n {2}none {8}0 of 6 tools: /m,
    )
    expect(chosen).toEqual([{ names: ['git-hub', 'files'], consent: 'changing' }])
    expect(stdout).toContain(
      '  3 of 3 tools ask a person first: a, b, c. Change it: quartermaster upstreams consent files ',
    )
    for (const words of [['--yes'], ['--consent', 'destructive', '--yes'], ['--json', '--yes']])
      expect(await run(['claude', ...words], { asks: ASKS, terminal })).toMatchObject({ chosen: [], questions: [] })
    const answered = await run(['claude', '--consent', 'all'], { asks: ASKS, terminal, answers: ['y'] })
    expect(answered).toMatchObject({ code: 0, questions: ['Import and start these 2? [y/N] '] })
    expect(await run(['claude'], { asks: ASKS, terminal, answers: ['y', ''] })).toMatchObject({ chosen: [] })
  })

  it('shows what it would run, write and give, and does nothing of it without a yes', async () => {
    const entry = {
      command: 'npx',
      args: ['-y', 'files', '-c', 'echo \u202e\u001b[2J\nrm -r ~', '--password', 'hush$HOME'],
      env: { LD_PRELOAD: '/hush.so', node_options: 'hush', DYLD_INSERT_LIBRARIES: 'hush', MODE: 'hush' },
      cwd: '/else where',
    }
    const removal = { command: ['claude', 'mcp', 'remove', '--scope', 'local', "it's"], folder: '/work/other' }
    const servers = [
      server("it's", { as: 'its', client: 'claude-code', entry, removal }),
      server('web', {
        entry: { type: 'http', url: 'https://x.example/a?key=hush1hush2', headers: { 'X-Key': 'hush' } },
      }),
    ]
    const given = {
      granted: ['default'],
      madeFile: true as const,
      secretsFile: '/data/secrets.json',
      consent: 'destructive' as const,
    }
    const situation = { found: { places: [], servers }, given }
    const said = [
      '+ its (Claude Code, "it\'s" there)',
      "  Runs: npx -y files -c $'echo \\u202e\\u001b[2J\\nrm -r ~' --password '[secret]'",
      "  In the folder: '/else where'",
      '  With the variables: LD_PRELOAD (! can make it run other code), node_options (! can make it run other code), DYLD_INSERT_LIBRARIES (! can make it run other code), MODE',
      '  Would be given to default.',
      "  Still in Claude Code. To remove it there: cd /work/other && claude mcp remove --scope local 'it'\\''s'",
      '  "files" has no version, so every start may run another program than the one you looked at. Write files@VERSION, or --pin for the present one.',
      '+ web (Claude Desktop)',
      '  Connects to: https://x.example/a?key=[secret]',
      '  With the headers: X-Key',
      '  Would be given to default.',
      '  Still in Claude Desktop. To remove it there: take "mcpServers" > "web" out of /home/me/claude_desktop_config.json',
      'Would be written to c.json (a new file: there is none in this folder or above), secrets to /data/secrets.json.',
      'Tools that ask a person first: what the server calls destructive, and what it does not describe unless named like reading (destructive). Change it: quartermaster upstreams consent NAME CHOICE (destructive, changing, all, none)',
      'An agent that has more than 40 tools by then sees five in their place, which find and call all of them (gatewayViewOver).',
    ].join('\n')
    const unasked = await run(['claude'], { ...situation, isUnanswered: true })
    expect(unasked).toMatchObject({ code: 2, asked: [], stdout: '' })
    expect(unasked.stderr).toMatch(/\nError: nothing was run or written: /)
    expect(unasked.stderr.split('\nError: ')[0]).toBe(said)
    expect(unasked.stderr).toContain('To run it anyway, add --yes.\n')
    const terminal = { stdin: true, stderr: true }
    for (const answers of [[''], ['no'], ['yess']]) {
      const refused = await run(['claude', '--no-color'], { ...situation, terminal, answers })
      expect(refused).toMatchObject({ code: 1, asked: [], stdout: '', stderr: `${said}\nNothing was imported.\n` })
    }
    const done = await run(['claude'], situation)
    expect(done.stderr).toBe(`${said}\n`)
    expect(done.stdout).toContain('✓ its (Claude Code')
    expect((await run(['claude', '--dry-run'], situation)).stdout.startsWith(said)).toBe(true)
    expect(said + done.stdout).not.toContain('hush')
  })

  it('says to programs the same in JSON, and needs --yes of them', async () => {
    const refused = await run(['claude', 'files', '--json'], { isUnanswered: true })
    expect(refused).toMatchObject({ code: 2, asked: [], stderr: '' })
    expect(JSON.parse(refused.stdout)).toMatchObject({
      error: { code: 'INPUT_INVALID', message: expect.stringMatching(/add --yes\. .*add --dry-run\./) },
    })
    const plan = {
      command: ['npx', '-y', 'files'],
      folder: '.',
      variables: [],
      headers: [],
      file: 'c.json',
      changeConsent: 'quartermaster upstreams consent files CHOICE',
      gatewayViewOver: 40,
      removal: { file: '/home/me/claude_desktop_config.json', keys: ['mcpServers', 'files'] },
    }
    for (const words of [['--dry-run'], ['--yes']]) {
      const { stdout, stderr } = await run(['claude', 'files', '--json', ...words])
      expect({ servers: JSON.parse(stdout).servers, stderr }).toMatchObject({ servers: [{ plan }], stderr: '' })
    }
  })

  it('asks npm once for what it shows and writes', async () => {
    const wanted: string[] = []
    const packageVersion = async (name: string) => `3.0.${wanted.push(name)}`
    const { asked, stderr } = await run(['claude', 'files', '--pin'], { packageVersion })
    expect(stderr).toContain('  Runs: npx -y files@3.0.1\n')
    expect({ asked, wanted }).toMatchObject({ asked: [{ entry: { args: ['-y', 'files@3.0.1'] } }], wanted: ['files'] })
  })

  it('can be left, and says what was done until then', async () => {
    const servers = ['a', 'b', 'c', 'd'].map(name => server(name))
    const { code, asked, stdout, stderr } = await run(['claude'], { found: { places: [], servers }, leftAt: 'b' })
    expect({ code, names: asked.map(({ name }) => name) }).toEqual({ code: 130, names: ['a', 'b'] })
    expect(stderr).not.toContain('Cancelled')
    expect(stdout).toContain('a (Claude Desktop): ')
    expect(stdout).toContain('✗ b (Claude Desktop): It was cut off. See whether it is there: quartermaster upstreams\n')
    expect(stdout).toContain('- c (Claude Desktop): It was not reached before Ctrl-C.\n')
    expect(stdout).toMatch(/\n1 imported, 2 skipped, 1 failed\.\n$/)
  })

  it('takes over what is named, by either name, also of other folders', async () => {
    expect((await run(['far', 'git-hub'])).asked.map(({ name }) => name)).toEqual(['far', 'git-hub'])
    expect((await run(['claude', 'files'])).asked.map(({ name }) => name)).toEqual(['files'])
    expect((await run(['--all'])).asked.map(({ name }) => name)).toEqual(['git-hub', 'files'])
    expect(await run(['flies'])).toMatchObject({
      code: 4,
      asked: [],
      stderr: expect.stringContaining('Did you mean "files"?'),
    })
  })

  it.each(['./x.json', 'mcp.jsonc', '/etc/mcp'])('reads the file %s', async file => {
    expect((await run([file])).sources).toEqual([{ source: file }])
  })

  it('goes on after what is taken or wrong, and ends with 1 only for what is wrong', async () => {
    const skipped = await run(['claude'], { taken: ['git-hub'] })
    expect(skipped).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('- git-hub (Claude Desktop, "git hub" there): There is another upstream'),
    })
    expect(skipped.stdout).not.toContain('Given to no agent')
    const pinned = await run(['claude', 'files', '--pin'], { taken: ['files'] })
    expect(pinned.stdout).not.toMatch(/Pinned|has no version/)
    const failed = await run(['claude'], { broken: ['git-hub'] })
    expect(failed).toMatchObject({ code: 1, stdout: expect.stringContaining('1 imported, 1 skipped, 1 failed.') })
    expect((await run(['claude', '--replace', '--no-grant'])).asked[0]).toMatchObject({ replace: true, grant: false })
  })

  it.each([[], ['--dry-run']])(
    'says once that the configuration here is wrong, and not of every server: %j',
    async (...more) => {
      const { code, stdout, stderr, asked } = await run(['claude', ...more], { unreadableFrom: 'git-hub' })
      expect({ code, stdout, asked: asked.length }).toEqual({ code: 3, stdout: '', asked: 1 })
      expect(stderr.match(/The configuration has a problem/g)).toHaveLength(1)
    },
  )

  it.each([
    [{}, '1 imported, 2 skipped, 1 failed.'],
    [{ broken: ['a'] }, '0 imported, 2 skipped, 2 failed.'],
  ])('tells of what came before the configuration was found wrong, of that once, and ends: %j', async (more, sum) => {
    const servers = ['a', 'b', 'c', 'd'].map(name => server(name))
    const situation = { found: { places: [], servers }, unreadableFrom: 'b', ...more }
    const { code, stdout, asked } = await run(['claude'], situation)
    expect({ code, asked: asked.map(({ name }) => name) }).toEqual({ code: 1, asked: ['a', 'b'] })
    expect(stdout.match(/The configuration has a problem/g)).toHaveLength(1)
    expect(stdout).toContain('- c (Claude Desktop): It was not tried, because the configuration here is wrong.\n')
    expect(stdout).toContain(sum)
  })

  it('marks what is there now and does not work', async () => {
    const { code, stdout } = await run(['claude', 'files'], { states: ['down'] })
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: expect.stringMatching(/^! files \(Claude Desktop\): it is down/),
    })
  })

  it('says when no agent was granted it, and when the first agent was made for it', async () => {
    const noAgents = await run(['claude', 'files', '--no-grant'], { given: { granted: [] } })
    expect(noAgents.stdout).toContain('  Given to no agent. Give it: quartermaster grant AGENT files\n')
    const first = await run(['claude', 'files'], { given: { granted: ['default'], madeAgent: 'default' } })
    expect(first.stdout).toContain('  Given to: default (made now, as the first agent here; it may also read')
  })

  it('says what stays of an entry that it replaces, and warns of no version that is kept', async () => {
    const keptVersions = { files: 'files@3.0.0' }
    const given = { granted: [], keptSettings: ['leaveOut', 'agents'], goneSettings: ['oauth'], keptVersions }
    const { stdout } = await run(['claude', 'files', '--replace'], { given })
    expect(stdout).toContain(
      '  Stays in its entry: leaveOut, agents.\n  Gone from its entry, because it is reached in another way now: oauth.\n  Stays in its version: files@3.0.0.\n',
    )
    expect(stdout).not.toContain('has no version')
    const { servers } = JSON.parse((await run(['claude', 'files', '--replace', '--json'], { given })).stdout)
    expect(servers).toMatchObject([{ keptSettings: ['leaveOut', 'agents'], goneSettings: ['oauth'], keptVersions }])
  })

  it('pins packages on request', async () => {
    expect((await run(['claude', 'files', '--pin'])).asked).toMatchObject([{ entry: { args: ['-y', 'files@3.0.0'] } }])
  })

  it('asks at the terminal what the client would have asked, each once', async () => {
    const asks = [{ id: 'key', secret: 'KEY', prompt: 'API key', isHidden: true }]
    const found = { ...FOUND, servers: [server('a', { asks }), server('b', { asks })] }
    const terminal = { stdin: true, stderr: true }
    const { asked, questions } = await run(['vscode'], { found, terminal, answers: ['yes', ' k-1 '] })
    expect(questions).toEqual(['Import and start these 2? [y/N] ', 'a asks: API key: '])
    expect(asked).toMatchObject([{ secrets: { KEY: 'k-1' } }, { secrets: { KEY: 'k-1' } }])
  })

  it('takes what the client would take automatically where no terminal can ask', async () => {
    const asks = [
      { id: 'key', secret: 'KEY', prompt: 'API key', isHidden: true },
      { id: 'region', secret: 'REGION', prompt: 'Region', isHidden: false, fallback: 'eu' },
    ]
    const { asked, questions } = await run(['vscode'], { found: { ...FOUND, servers: [server('a', { asks })] } })
    expect({ questions, asked }).toMatchObject({
      questions: [],
      asked: [{ secrets: { REGION: 'eu' }, missing: ['KEY'] }],
    })
  })

  it('names the unanswered question, and the name under which its answer is looked for', async () => {
    const asks = [{ id: 'key', secret: 'KEY', prompt: 'API key', isHidden: true }]
    const found = { ...FOUND, servers: [server('a', { asks })] }
    expect((await run(['vscode'], { found, renames: { KEY: 'KEY_2' } })).stdout).toContain(
      'There is no answer to "API key". Write it into secrets.json as "KEY_2", then: quartermaster reload',
    )
    expect((await run(['vscode', '--dry-run'], { found })).stdout).toContain('It asks for "API key".')
  })

  it('gives no server the answer to what another file asks', async () => {
    const asks = [{ id: 'key', secret: 'A_B_KEY', prompt: 'API key', isHidden: true }]
    const found = { ...FOUND, servers: [server('a-b', { asks }), server('a_b', { asks, file: '/other.json' })] }
    const { asked } = await run(['vscode'], {
      found,
      terminal: { stdin: true, stderr: true },
      answers: ['y', 'k-1', 'k-2'],
    })
    expect(asked.map(({ secrets }) => secrets)).toEqual([{ A_B_KEY: 'k-1' }, { A_B_KEY: 'k-2' }])
  })

  it('answers programs in JSON, without a secret in it', async () => {
    const { stdout } = await run(['claude', '--json'])
    expect(JSON.parse(stdout)).toMatchObject({
      places: FOUND.places,
      servers: [
        { as: 'git-hub', outcome: 'added', secrets: ['TOKEN'], granted: ['default'], status: { state: 'up' } },
        { as: 'files', outcome: 'added' },
        { as: 'old', outcome: 'skipped', reason: expect.stringContaining('sse') },
      ],
    })
    expect(stdout).not.toContain('hush')
  })

  it.each([
    [{ found: false }, 'There is no file'],
    [{ found: true, problem: 'It is not JSON.' }, 'It is not JSON.'],
  ])('refuses a named file that is %j', async (place, message) => {
    const found: ForeignServers = { places: [{ client: 'file', file: '/x.json', ...place }], servers: [] }
    expect(await run(['/x.json'], { found })).toMatchObject({ code: 3, stderr: expect.stringContaining(message) })
  })

  it('says of a file of another kind what else can be done', async () => {
    const place = { client: 'file', file: '/config.toml', found: true, problem: 'It is not JSON.' } as const
    const { stderr } = await run(['/config.toml'], { found: { places: [place], servers: [] } })
    expect(stderr).toContain('It is not JSON. Fix the file, or add its servers one by one: quartermaster add NAME --')
  })

  it('says of a client that is not read which are, and where to see what there is', async () => {
    const { code, stderr } = await run(['codex'])
    expect(code).toBe(4)
    expect(stderr).toMatch(
      /^Error: No server named "codex" was found\..* What is read: Claude, Cursor and VS Code, and /,
    )
    expect(stderr).toContain('\nNext: See all of them: quartermaster import\n')
  })

  it('says how a server whose name is taken is added under another', async () => {
    const { stdout } = await run(['claude', 'files', 'git hub'], { taken: ['files', 'git-hub'] })
    expect(stdout).toContain('  Under another name: quartermaster add OTHER -- COMMAND\n- git-hub')
    expect(stdout).toContain('upstream "git-hub".\n  Under another name: quartermaster add OTHER -- COMMAND\n')
    const url = server('far', { entry: { url: 'https://far.example/mcp' } })
    const found = { places: [], servers: [url, server('near', { entry: { command: 'a', args: ['${secret:KEY}'] } })] }
    const others = (await run(['claude'], { found, taken: ['far', 'near'] })).stdout
    expect(others).toContain('  Under another name: quartermaster add OTHER URL\n')
    expect(others).toContain('  Under another name: quartermaster add OTHER -- COMMAND\n')
  })

  it('does not point to our own configuration for a fault in another client’s file', async () => {
    const place = { client: 'file', file: '/x.json', found: true, problem: 'It is not JSON.' } as const
    const { stderr } = await run(['/x.json'], { found: { places: [place], servers: [] } })
    expect(stderr).not.toContain('doctor')
  })

  it('says of a client that has no servers where it looked, which is no failure', async () => {
    const place = { client: 'claude-code', file: '/h/.claude.json', found: false } as const
    const { code, stderr } = await run(['claude'], { found: { places: [place], servers: [] } })
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining('Looked in: /h/.claude.json.') })
  })

  it.each([[], ['github'], ['--dry-run']])(
    'refuses a named file without servers, and says what it looked for: %s',
    async (...more) => {
      const place = { client: 'file', file: '/x.json', found: true } as const
      const found = { places: [place], servers: [] }
      const message = expect.stringMatching(
        /^No MCP servers are in "\/x\.json"\. Looked for: "mcpServers", "servers" or /,
      )
      const refused = await run(['/x.json', ...more], { found })
      expect(refused).toMatchObject({ code: 3, asked: [], stdout: '' })
      expect(refused.stderr).toContain('No MCP servers are in "/x.json". Looked for: "mcpServers"')
      expect(refused.stderr).not.toContain('doctor')
      const told = await run(['/x.json', ...more, '--json'], { found })
      expect({ code: told.code, json: JSON.parse(told.stdout) }).toMatchObject({
        code: 3,
        json: { error: { code: 'INPUT_INVALID', message } },
      })
    },
  )

  it('says so when everything that was found is for other folders', async () => {
    const found = { places: [], servers: [server('far', { elsewhere: '/work/other' })] }
    expect((await run(['claude'], { found })).stderr).toContain('is for other folders alone')
  })

  it('says how a secret gets out of the arguments of what is imported', async () => {
    const secrets = { KEY: 'hush' }
    const one = server('one', { secrets, entry: { command: 'a', args: ['${secret:KEY}'] } })
    const { stdout } = await run(['claude'], { found: { places: [], servers: [one] } })
    expect(stdout).toContain('put it into "env" of its entry.')
  })

  it('warns once of a file of the project in which the copied secrets still stand, and says what to do', async () => {
    const left = { file: '/project/.mcp.json', isLeftInClear: true } as const
    const found = { places: [], servers: [server('a', left), server('b', left), server('c', left), server('d')] }
    const done = await run(['claude'], { found, taken: ['c'] })
    expect(done.stdout).toContain(
      '! /project/.mcp.json: the secrets of a, b are copied, and still stand there in clear. Remove them there, and keep the file out of version control.\n3 imported',
    )
    expect(done.stdout.match(/in clear/g)).toHaveLength(1)
    const tried = await run(['claude', '--dry-run'], { found })
    expect(tried.stdout).toContain(
      'would be copied, and still stand there in clear. Remove them there after the import,',
    )
    const { servers } = JSON.parse((await run(['claude', 'a', '--json'], { found })).stdout)
    expect(servers).toMatchObject([{ as: 'a', isLeftInClear: true }])
    expect((await run(['claude'])).stdout).not.toContain('in clear')
  })

  it('says at the end of agents with many tools that their clients list five, and where that is explained', async () => {
    const summary = { capabilities: [], granted: 57, unavailable: 0, problems: [] }
    const agents: AgentSummary[] = [
      { ...summary, name: 'default', view: 'gateway' },
      { ...summary, name: 'other', view: 'gateway' },
    ]
    const told = '"default" has 57 tools now: its clients list five, which find and call all of them.\n'
    const { stdout } = await run(['claude'], { agents })
    expect(stdout).toMatch(/skipped\.\n"default" has 57 tools now/)
    expect(stdout.endsWith(told)).toBe(true)
    expect(JSON.parse((await run(['claude', '--json'], { agents })).stdout)).toMatchObject({
      gatewayViews: [{ name: 'default', granted: 57 }],
    })
    const few: AgentSummary[] = [{ ...summary, name: 'default', view: 'direct' }]
    for (const situation of [{ agents: few }, {}])
      expect((await run(['claude'], situation)).stdout).toMatch(/skipped\.\n$/)
    expect((await run(['claude', '--dry-run'], { agents })).stdout).not.toContain('57')
  })

  it('says where to look when nothing was found', async () => {
    expect(await run([], { found: { places: [], servers: [] } })).toMatchObject({
      code: 0,
      stdout: '',
      stderr: expect.stringContaining('quartermaster import FILE'),
    })
  })
})
