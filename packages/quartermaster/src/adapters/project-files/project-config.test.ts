import { execFileSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { type AppError, type Problem, Problem as ProblemSchema } from '../../contracts/index.ts'
import { tempProject } from '../../testing/temp-project.ts'
import { readProjectConfig } from './index.ts'

async function readConfig(text: string, env: Record<string, string> = {}) {
  const project = await tempProject({ 'quartermaster.config.json': text })
  return readProjectConfig({
    configFile: project.path('quartermaster.config.json'),
    dataDir: project.path('data'),
    env,
  })
}

async function errorOf(promise: Promise<unknown>): Promise<AppError> {
  return promise.then(
    () => expect.unreachable('it should have been refused'),
    error => error,
  )
}

/** The problems with the folder taken off, as someone in it would see them. */
async function problemsOf(text: string, env: Record<string, string> = {}): Promise<Problem[]> {
  const error = await errorOf(readConfig(text, env))
  expect(error.code).toBe('CONFIG_INVALID')
  const problems = ProblemSchema.array().parse(error.details?.['problems'])
  for (const problem of problems)
    expect(error.message.split('\n')).toContainEqual(expect.stringContaining(`${problem.where}: `))
  return problems.map(problem => ({ ...problem, where: problem.where.replace(/^.*[\\/]/, '') }))
}

describe('reading the configuration', () => {
  it('has defaults for everything when there is no file', async () => {
    const project = await tempProject()
    const { config, settings, problems } = await readProjectConfig({ dataDir: project.path('data'), env: {} })
    expect(config).toEqual({ mcpServers: {}, dependencies: {}, allowedHosts: [], connections: {}, settings: {} })
    expect(settings).toMatchObject({ probeTimeoutMs: 2000, watchFiles: true, logLevel: 'info' })
    expect(problems).toEqual([])
  })

  it('allows comments and trailing commas', async () => {
    const { config } = await readConfig(
      '{\n  // why\n  "dependencies": { "mail": { "enabled": false, }, }, /* so */\n}',
    )
    expect(config.dependencies).toEqual({ mail: { enabled: false } })
  })

  it('tolerates a byte order mark and Windows line ends', async () => {
    const { settings } = await readConfig('\uFEFF{\r\n  "settings": { "logLevel": "warn" }\r\n}\r\n')
    expect(settings.logLevel).toBe('warn')
  })

  it('says where a syntax error is', async () => {
    expect(await problemsOf('{\n  "settings": { "logLevel": warn }\n}')).toEqual([
      {
        severity: 'error',
        code: 'CONFIG_INVALID',
        where: 'quartermaster.config.json:2:29',
        message: 'This is not a value: texts need double quotes.',
        fix: 'Correct the syntax.',
      },
    ])
    expect(await problemsOf('{ "settings": {}')).toMatchObject([
      { where: 'quartermaster.config.json:1:17', message: 'A "}" is missing.' },
    ])
    expect(await problemsOf('')).toMatchObject([{ message: 'The file is empty.' }])
  })

  it('says that the file is missing', async () => {
    const project = await tempProject()
    const missing = readProjectConfig({ configFile: project.path('x.json'), dataDir: project.dir, env: {} })
    await expect(missing).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining(project.path('x.json')),
    })
  })

  it('tells all problems at once, each with its place, its path and the next step', async () => {
    const text =
      '{\n  "setings": {},\n  "dependencies": { "mail": { "enabled": "no" } },\n  "settings": { "logLevel": "inof", "nestedCallDepth": 0 }\n}'
    expect(await problemsOf(text)).toMatchObject([
      {
        where: 'quartermaster.config.json:2:3',
        field: 'setings',
        message: '"setings" is not known here. Did you mean "settings"?',
      },
      {
        where: 'quartermaster.config.json:3:42',
        field: 'dependencies.mail.enabled',
        message: 'Expected true or false, found text.',
        fix: 'Change the value.',
      },
      {
        where: 'quartermaster.config.json:4:29',
        field: 'settings.logLevel',
        message: 'Expected one of "debug", "info", "warn", "error", "silent", found "inof". Did you mean "info"?',
      },
      {
        where: 'quartermaster.config.json:4:56',
        field: 'settings.nestedCallDepth',
        message: 'Expected a whole number from 1 to 64, found 0.',
      },
    ])
  })

  it('lists every problem on its own line of the message', async () => {
    const error = await errorOf(readConfig('{\n  "a": 1,\n  "b": 2\n}'))
    const [summary, first, second, ...rest] = error.message.split('\n')
    expect(summary).toBe('The configuration has 2 problems:')
    expect(first).toMatch(
      /quartermaster\.config\.json:2:3: a: "a" is not known here\. .*known here: \$schema, mcpServers, dependencies, allowedHosts, connections, settings\./,
    )
    expect(second).toMatch(/quartermaster\.config\.json:3:3: b: /)
    expect(rest).toEqual([])
  })

  it.each([
    ['[]', 'Expected an object, found a list.'],
    ['null', 'Expected an object, found null.'],
    ['"x"', 'Expected an object, found text.'],
    ['{ "settings": [] }', 'Expected an object, found a list.'],
    ['{ "settings": { "watchFiles": 1 } }', 'Expected true or false, found 1.'],
    ['{ "settings": { "probeTimeoutMs": {} } }', 'Expected a whole number from 10 to 60000, found an object.'],
    ['{ "settings": { "probeTimeoutMs": 20.5 } }', 'Expected a whole number from 10 to 60000, found 20.5.'],
    ['{ "$schema": 1 }', 'Expected text, found 1.'],
    ['{ "settings": { "probeTimeoutMs": 1e999 } }', 'This number is too large.'],
  ])('says of %s what was expected and what was found', async (text, message) => {
    expect((await problemsOf(text))[0]).toMatchObject({ message })
  })

  it('suggests leaving out the quotes where a number stands in them', async () => {
    expect(await problemsOf('{ "settings": { "nestedCallDepth": "4" } }')).toMatchObject([
      { fix: 'Write 4 without quotes.' },
    ])
  })

  it.each(['__proto__', 'constructor', 'prototype'])(
    'refuses the name %s and never lets it reach an object',
    async key => {
      const problems = await problemsOf(`{\n  "dependencies": { "${key}": { "enabled": false, "polluted": true } }\n}`)
      expect(problems).toMatchObject([
        {
          where: 'quartermaster.config.json:2:21',
          field: `dependencies.${key}`,
          message: `"${key}" cannot be used as a name in "dependencies": it is a reserved word.`,
        },
      ])
      expect({}).not.toHaveProperty('polluted')
    },
  )

  it('refuses a forbidden name that is written with escapes', async () => {
    expect(await problemsOf('{ "settings": { "\\u005f_proto__": {} } }')).toMatchObject([
      { message: '"__proto__" cannot be used as a name in "settings": it is a reserved word.' },
    ])
  })

  it('refuses the same name twice', async () => {
    expect(await problemsOf('{\n  "settings": {},\n  "settings": {}\n}')).toMatchObject([
      { where: 'quartermaster.config.json:3:3', field: 'settings', message: '"settings" stands here a second time.' },
    ])
  })

  it('refuses a file that is larger than 1 MiB', async () => {
    expect(await problemsOf(`{} //${'x'.repeat(1024 * 1024)}`)).toMatchObject([{ message: 'It is larger than 1 MiB.' }])
  })

  it('refuses a file that is nested too deep, however deep', async () => {
    const problems = await problemsOf('['.repeat(500_000))
    expect(problems).toMatchObject([
      { where: 'quartermaster.config.json:1:65', message: 'It is nested more than 64 levels deep.' },
    ])
  })

  it('refuses bytes that are not UTF-8', async () => {
    const project = await tempProject()
    await writeFile(project.path('c.json'), Buffer.from([0x7b, 0xff, 0x7d]))
    const refused = readProjectConfig({ configFile: project.path('c.json'), dataDir: project.dir, env: {} })
    await expect(refused).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining('It is not UTF-8 text. Save it as UTF-8.'),
    })
  })

  it.skipIf(process.platform === 'win32')('refuses a named pipe instead of waiting for it', async () => {
    const project = await tempProject()
    execFileSync('mkfifo', [project.path('c.json')])
    const refused = readProjectConfig({ configFile: project.path('c.json'), dataDir: project.dir, env: {} })
    await expect(refused).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining('It is not a regular file.'),
    })
  })
})

describe('settings', () => {
  it('come from the defaults, then the file, then the environment', async () => {
    const env = { QUARTERMASTER_LOG_LEVEL: 'error', QUARTERMASTER_RECHECK_COOLDOWN_SECONDS: '2.5' }
    const { settings } = await readConfig('{ "settings": { "logLevel": "warn", "nestedCallDepth": 3 } }', env)
    expect(settings).toMatchObject({
      logLevel: 'error',
      recheckCooldownSeconds: 2.5,
      nestedCallDepth: 3,
      probeTimeoutMs: 2000,
    })
  })

  it('ignore an environment variable that is set to nothing', async () => {
    expect((await readConfig('{}', { QUARTERMASTER_LOG_LEVEL: '' })).settings.logLevel).toBe('info')
  })

  it.each([
    ['QUARTERMASTER_LOG_LEVEL', 'loud', 'one of "debug", "info", "warn", "error", "silent"'],
    ['QUARTERMASTER_RECHECK_COOLDOWN_SECONDS', 'soon', 'a number from 0 to 3600'],
    ['QUARTERMASTER_RECHECK_COOLDOWN_SECONDS', '-1', 'a number from 0 to 3600'],
    ['QUARTERMASTER_RECHECK_COOLDOWN_SECONDS', ' ', 'a number from 0 to 3600'],
  ])('refuse %s=%s and say what is allowed', async (variable, value, allowed) => {
    expect(await problemsOf('{}', { [variable]: value })).toEqual([
      {
        severity: 'error',
        code: 'CONFIG_INVALID',
        where: 'environment',
        field: variable,
        message: `The environment variable "${variable}" must be ${allowed}.`,
        fix: 'Correct it, or unset it.',
      },
    ])
  })

  it('tell a bad variable together with the problems of the file', async () => {
    const problems = await problemsOf('{ "x": 1 }', { QUARTERMASTER_LOG_LEVEL: 'loud' })
    expect(problems.map(problem => problem.field)).toEqual(['x', 'QUARTERMASTER_LOG_LEVEL'])
  })
})
