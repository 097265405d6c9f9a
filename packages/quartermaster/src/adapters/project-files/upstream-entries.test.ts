import { describe, expect, it } from 'vitest'
import { tempProject } from '../../testing/temp-project.ts'
import { readProjectConfig } from './index.ts'

interface Situation {
  env?: Record<string, string>
  secrets?: Record<string, string>
}

async function read(mcpServers: string, { env = {}, secrets }: Situation = {}) {
  const project = await tempProject({ 'quartermaster.config.json': `{\n  "mcpServers": ${mcpServers}\n}` })
  if (secrets) await project.write('data/secrets.json', JSON.stringify(secrets), 0o600)
  const file = project.path('quartermaster.config.json')
  const { upstreams, problems, config } = await readProjectConfig({
    configFile: file,
    dataDir: project.path('data'),
    env,
  })
  const told = problems.map(problem => ({ ...problem, where: problem.where.replace(/^.*[\\/]/, '') }))
  return {
    configs: Object.fromEntries(upstreams.configs),
    leftOut: Object.fromEntries(upstreams.leftOut),
    upstreams,
    config,
    problems: told,
  }
}

/** The one problem of an entry named "x" beside a good one, which stays. */
async function problemOf(entry: string, situation: Situation = {}) {
  const { configs, leftOut, problems } = await read(`{ "good": { "command": "true" },\n "x": ${entry} }`, situation)
  expect({ good: Object.keys(configs), left: Object.keys(leftOut) }).toEqual({ good: ['good'], left: ['x'] })
  expect(problems).toHaveLength(1)
  return problems[0]
}

describe('mcpServers in the configuration', () => {
  it('takes programs and addresses, in the shape every client uses', async () => {
    const { configs, problems, config } = await read(`{
      "files": { "command": "npx", "args": ["-y", "server-files@1.0.0", "."], "env": { "LEVEL": "info" } },
      "search": { "type": "http", "url": "https://search.example/mcp", "headers": { "X-Team": "red" } }
    }`)
    expect(problems).toEqual([])
    expect(configs).toMatchObject({
      files: {
        command: 'npx',
        args: ['-y', 'server-files@1.0.0', '.'],
        enabled: true,
        start: 'eager',
        newTools: 'review',
      },
      search: { url: 'https://search.example/mcp', headers: { 'X-Team': 'red' }, connection: 'shared' },
    })
    expect(config.mcpServers).toEqual(configs)
  })

  it('replaces references, in every text', async () => {
    const entries = `{
      "x": { "url": "\${env:BASE}/mcp", "headers": { "Authorization": "Bearer \${secret:TOKEN}" } },
      "y": { "url": "https://b.example", "agents": { "ada": { "headers": { "X-Key": "\${secret:TOKEN}" } } } },
      "z": { "command": "z", "args": ["\${env:BASE}"], "agents": { "ada": { "env": { "KEY": "\${secret:TOKEN}" } } } }
    }`
    const { configs } = await read(entries, { env: { BASE: 'https://a.example' }, secrets: { TOKEN: 'hush-hush' } })
    expect(configs).toMatchObject({
      x: { url: 'https://a.example/mcp', headers: { Authorization: 'Bearer hush-hush' } },
      y: { agents: { ada: { headers: { 'X-Key': 'hush-hush' } } } },
      z: { args: ['https://a.example'], agents: { ada: { env: { KEY: 'hush-hush' } } } },
    })
  })

  it('reads "disabled" as other clients mean it', async () => {
    const { configs } = await read(
      '{ "a": { "command": "a", "disabled": true }, "b": { "command": "b", "disabled": false } }',
    )
    expect([configs['a'], configs['b']]).toMatchObject([{ enabled: false }, { enabled: true }])
    expect(configs['a']).not.toHaveProperty('disabled')
  })

  it('leaves out one whose name is that of another but for its capital letters: consent would be for both', async () => {
    const { configs, problems } = await read('{ "dx": { "command": "a" }, "Dx": { "command": "b" } }')
    expect(Object.keys(configs)).toEqual(['dx'])
    expect(problems).toMatchObject([{ subject: 'upstream:Dx', message: expect.stringContaining('like that of "dx"') }])
  })

  it('leaves out a wrong entry alone, and says where and why', async () => {
    expect(await problemOf('{ "command": "a", "arg": [] }')).toEqual({
      severity: 'error',
      code: 'CONFIG_INVALID',
      where: 'quartermaster.config.json:3:25',
      subject: 'upstream:x',
      field: 'mcpServers.x.arg',
      message: '"arg" is not known here. Did you mean "args"?',
      fix: 'Correct the name or remove it.',
    })
  })

  it.each([
    ['{}', 'It has neither "command" nor "url".', /started .*"command"/],
    ['{ "command": "a", "url": "https://a.example" }', 'It has both "command" and "url".', /Keep "command"/],
    [
      '{ "type": "sse", "url": "https://a.example/sse" }',
      'The older transport "sse" is not spoken here.',
      /streamable HTTP/,
    ],
    [
      '{ "type": "stdio", "url": "https://a.example" }',
      'Expected one of "http", "streamable-http", found "stdio".',
      /Change/,
    ],
    ['{ "url": "ftp://a.example" }', 'It must be an http: or https: URL.', /Change/],
    ['{ "url": "not an address" }', 'It must be an http: or https: URL.', /Change/],
    ['"npx"', 'Expected an object.', /"command"/],
    ['{ "command": "a", "autoApprove": ["b"] }', '"autoApprove" means nothing here.', /"consent"/],
    ['{ "command": "a", "timeout": 60 }', '"timeout" means nothing here.', /"timeoutMs"/],
    ['{ "command": "a", "prefix": 5 }', 'Expected false or text, found 5.', /Change/],
    ['{ "command": "a", "agents": { "not a name": {} } }', /^The name "not a name" must be 1 to 64/, /another name/],
    ['{ "command": "${env:NOPE}" }', 'The environment variable "NOPE" is not set.', /Set it/],
    ['{ "url": "${secret:NOPE}" }', 'The secret "NOPE" is not there.', /secrets\.json/],
    ['{ "command": "a", "command": "b" }', '"command" stands here a second time.', /Keep one/],
  ])('says of %s what is wrong and what to do', async (entry, message, fix) => {
    const problem = await problemOf(entry)
    expect(problem?.message).toMatch(message)
    expect(problem?.fix).toMatch(fix)
  })

  it.each(['constructor', '__proto__'])('says of the name "%s" that it is reserved', async name => {
    const { problems } = await read(`{ ${JSON.stringify(name)}: { "command": "true" } }`)
    expect(problems.map(({ message }) => message)).toEqual([
      `An upstream cannot be named "${name}": that is a reserved word.`,
    ])
  })

  it('says where a reserved word stands in an entry', async () => {
    expect(await problemOf('{ "command": "true", "tools": { "constructor": {} } }')).toMatchObject({
      field: 'mcpServers.x.tools.constructor',
      message: '"constructor" cannot be used as a name in "tools": it is a reserved word.',
    })
  })

  it.each(['a b', 'x'.repeat(33), 'größe', '__proto__', ''])('takes no name like "%s"', async name => {
    const { configs, problems } = await read(
      `{ "good": { "command": "true" }, ${JSON.stringify(name)}: { "command": "a" } }`,
    )
    expect(Object.keys(configs)).toEqual(['good'])
    expect(problems).toMatchObject([{ severity: 'error', field: `mcpServers.${name}` }])
  })

  it('never tells what a reference led to', async () => {
    const problem = await problemOf('{ "url": "${secret:URL}" }', { secrets: { URL: 'hush://hush' } })
    expect(JSON.stringify(problem)).not.toContain('hush')
  })

  it('is an error of the whole file when it is no object', async () => {
    await expect(read('[]')).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining('found a list'),
    })
  })
})

describe('texts of upstreams that no log may show', () => {
  const secretsOf = async (entry: string, situation?: Situation) =>
    (await read(`{ "x": ${entry} }`, situation)).upstreams.secrets

  it('are those behind references to secrets, wherever they stand', async () => {
    const secrets = { TOKEN: 'hush', OTHER: 'never' }
    expect(await secretsOf('{ "command": "a", "args": ["--token", "${secret:TOKEN}"] }', { secrets })).toEqual(['hush'])
  })

  it('are those in the environment and in headers, with their scheme and without', async () => {
    const entry =
      '{ "url": "https://a.example", "headers": { "Authorization": "Bearer abc12345" }, "agents": { "ada": { "headers": { "X-Key": "ada-s-key-1" } } } }'
    expect(await secretsOf(entry)).toEqual(['Bearer abc12345', 'abc12345', 'ada-s-key-1'])
  })

  it('are not what every other line holds: folders, addresses, plain words', async () => {
    const entry =
      '{ "command": "a", "env": { "A": "production", "B": "/home/me/project", "C": "http://localhost:80/x", "D": "1" } }'
    expect(await secretsOf(entry)).toEqual([])
  })

  it('are not those of an entry that is left out', async () => {
    expect(await secretsOf('{ "command": "a", "nope": 1, "env": { "KEY": "abcdefgh1" } }')).toEqual([])
  })
})

describe('a name that is too much like another', () => {
  it('is told where the entry stands', async () => {
    const { configs, problems } = await read(
      '{\n    "github": { "command": "a" },\n    "Github": { "command": "b" }\n  }',
    )
    expect(Object.keys(configs)).toEqual(['github'])
    expect(problems).toMatchObject([{ where: 'quartermaster.config.json:4:5', subject: 'upstream:Github' }])
  })
})
