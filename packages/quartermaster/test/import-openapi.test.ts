import { chmod, readdir } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { runCli } from '../src/adapters/cli/index.ts'
import { createSystemClock } from '../src/adapters/system/index.ts'
import { importApi } from '../src/app/bootstrap/import-api.ts'
import type { ToolSummary } from '../src/contracts/index.ts'
import { createFakeCliHost } from '../src/testing/cli-host.ts'
import { httpFixture, sendJson, testSite } from '../src/testing/op-fixture.ts'
import { tempProject } from '../src/testing/temp-project.ts'

/** What most of these tests do not look at. */
const around = { openapi: '3.1.0', info: { title: 'Odd' }, servers: [{ url: 'https://odd.example.com' }] }

const DOCUMENT = {
  openapi: '3.0.3',
  info: { title: 'City Weather' },
  servers: [{ url: 'https://{region}.api.example.com/v1', variables: { region: { default: 'eu' } } }],
  security: [{ keyAuth: [] }],
  paths: {
    '/cities/{city}/weather': {
      parameters: [{ name: 'city', in: 'path', required: true, schema: { type: 'string' }, example: 'Bern' }],
      get: {
        operationId: 'getWeather',
        summary: 'The weather of a city',
        description: 'Temperature and wind, as they are now.',
        parameters: [
          {
            name: 'units',
            in: 'query',
            schema: { type: 'string', enum: ['metric', 'imperial'] },
            description: 'How it is measured.',
          },
          { name: 'tags[]', in: 'query', schema: { type: 'array', items: { type: 'string' } } },
          { name: 'X-Trace', in: 'header', schema: { type: 'string' } },
          { name: 'filter', in: 'query', style: 'deepObject', schema: { type: 'object' } },
        ],
      },
    },
    '/cities': {
      post: {
        operationId: 'addCity',
        summary: 'Add a city.',
        requestBody: {
          required: true,
          content: { 'application/json': { schema: { $ref: '#/components/schemas/City' } } },
        },
      },
    },
    '/pictures': {
      put: {
        operationId: 'putPicture',
        requestBody: { required: true, content: { 'multipart/form-data': { schema: { type: 'object' } } } },
      },
    },
    '/far': { get: { operationId: 'far', parameters: [{ $ref: 'https://elsewhere.example/x.json' }] } },
  },
  components: {
    securitySchemes: { keyAuth: { type: 'apiKey', in: 'header', name: 'X-Api-Key' } },
    schemas: {
      City: {
        type: 'object',
        required: ['name'],
        properties: {
          name: { type: 'string', example: 'Bern' },
          people: { type: 'integer', nullable: true, minimum: 0, exclusiveMinimum: true },
          near: { type: 'array', items: { $ref: '#/components/schemas/City' } },
        },
      },
    },
  },
}

/** A project with a document, and the command line in it. */
async function project(document: unknown = DOCUMENT, present: readonly ToolSummary[] = []) {
  const made = await tempProject({ 'quartermaster.config.json': {}, 'weather.json': document })
  const run = async (...words: string[]) => {
    const fake = createFakeCliHost({
      host: {
        importApi: options =>
          importApi(
            { from: made.dir, ...options },
            { clock: createSystemClock(), signal: new AbortController().signal, tools: async () => present },
          ),
      },
    })
    const code = await runCli(['import', 'openapi', ...words], fake.host)
    return { code, ...fake.seen }
  }
  const front = async (file: string) => {
    const text = await made.read(`knowledge/${file}.md`)
    return parse(text.split('---\n')[1] ?? '') as Record<string, unknown> & { with: Record<string, unknown> }
  }
  return { ...made, run, front }
}

describe('quartermaster import openapi', () => {
  it('lists the operations of a document, and says of which no tool can be made', async () => {
    const { run } = await project()
    const { code, stdout, stderr } = await run('weather.json')
    expect(code).toBe(0)
    expect(stdout).toMatch(/getWeather +GET \/cities\/\{city\}\/weather +The weather of a city\./)
    expect(stdout).toContain('No tool: Its body is multipart/form-data; JSON, forms and texts can be sent.')
    expect(stdout).toContain('No tool: It refers to "https://elsewhere.example/x.json" in another document')
    expect(stderr).toContain('quartermaster import openapi weather.json OPERATION...')
  })

  it('lists the others where one path is described in another document', async () => {
    const { paths, ...rest } = DOCUMENT
    const { run } = await project({ ...rest, paths: { '/away': { $ref: 'paths/away.yaml' }, ...paths } })
    const { code, stdout } = await run('weather.json')
    expect(code).toBe(0)
    expect(stdout).toMatch(/\/away +ANY \/away[^]*No tool: It refers to "paths\/away\.yaml" in another document/)
    expect(stdout).toContain('getWeather')
    expect(await run('weather.json', '/away')).toMatchObject({
      stderr: expect.stringContaining('put all into one first'),
    })
  })

  it('writes a declaration for each operation that was chosen, and says what is still to be done', async () => {
    const { run, front, path } = await project()
    const { code, stdout } = await run('weather.json', '--operations', 'getWeather,addCity', '--capability', 'weather')
    expect(code).toBe(0)
    expect(stdout).toMatch(/get_weather: knowledge.weather.get_weather\.md written/)
    expect(stdout).toContain('Left out: the parameter "filter", which is a list or an object')
    expect(stdout).toContain('"WEATHER_KEY_AUTH": the key for the header "X-Api-Key"')
    expect(stdout).toContain('quartermaster grant AGENT weather')
    expect(await front('weather/get_weather')).toEqual({
      schema: 1,
      op: 'op.http.request',
      short: 'The weather of a city.',
      whenToUse: 'Temperature and wind, as they are now.',
      parameters: {
        city: { type: 'string', required: true },
        units: { type: 'string', enum: ['metric', 'imperial'], description: 'How it is measured.' },
        tags: { type: 'array', items: { type: 'string' } },
        'X-Trace': { type: 'string' },
      },
      with: {
        method: 'GET',
        url: 'https://eu.api.example.com/v1/cities/{city}/weather',
        query: { units: '{units}', 'tags[]': '{tags}' },
        headers: { 'X-Trace': '{X-Trace}', 'X-Api-Key': '${secret:WEATHER_KEY_AUTH}' },
      },
      examples: [{ query: 'The weather of a city', input: { city: 'Bern' } }],
    })
    expect(await front('weather/add_city')).toMatchObject({
      parameters: {
        name: { type: 'string', required: true },
        people: { type: ['integer', 'null'], exclusiveMinimum: 0 },
        near: { type: 'array' },
      },
      with: { body: { json: { name: '{name}', people: '{people}', near: '{near}' } } },
    })
    expect(await readdir(path('knowledge/weather'))).toEqual(['add_city.md', 'get_weather.md'])
  })

  it('makes tools that work as they are', async () => {
    const site = await testSite(({ url, body }, response) => sendJson(response, { url, body }))
    const { run, front } = await project({ ...DOCUMENT, security: [] })
    await run('weather.json', 'getWeather', 'addCity', '--server', `${site.origin}/v2/`)
    const get = await httpFixture(await front('city_weather/get_weather'))
    expect(get.problems()).toEqual([])
    expect((await get.call({ city: 'Bern', tags: ['a', 'b'] })).data.url).toBe(
      '/v2/cities/Bern/weather?tags%5B%5D=a&tags%5B%5D=b',
    )
    const add = await httpFixture(await front('city_weather/add_city'))
    expect(add.problems()).toEqual([])
    const { data } = await add.call({ name: 'Bern', near: [{ name: 'Thun', near: [] }] })
    expect(JSON.parse(String(data.body))).toEqual({ name: 'Bern', near: [{ name: 'Thun', near: [] }] })
  })

  it('writes all or nothing, and never over edited files', async () => {
    const { run, write, read, path } = await project()
    const refused = await run('weather.json', 'getWeather', 'putPicture', 'far')
    expect(refused.code).not.toBe(0)
    expect(refused.stderr).toMatch(/putPicture: Its body[\s\S]*far: It refers to/)
    await expect(readdir(path('knowledge'))).rejects.toThrow('ENOENT')

    await write('knowledge/city_weather/get_weather.md', 'mine')
    const taken = await run('weather.json', 'getWeather', 'addCity')
    expect(taken.stderr).toContain('knowledge/city_weather/get_weather.md')
    expect(await readdir(path('knowledge/city_weather'))).toEqual(['get_weather.md'])
    expect((await run('weather.json', 'getWeather', '--force', '--dry-run')).stdout).toContain('would be written over')
    expect(await read('knowledge/city_weather/get_weather.md')).toBe('mine')
    await run('weather.json', 'getWeather', '--force')
    expect((await run('weather.json', 'getWeather')).stdout).toContain('there already')
  })

  it('refuses what is too large to be told to a model, at once, and lists it without looking into it', async () => {
    const level = (number: number) => ({
      type: 'object',
      properties: Object.fromEntries(
        [...'abcdefghij'].map(name => [name, { $ref: `#/components/schemas/L${number + 1}` }]),
      ),
    })
    const schemas = Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`L${i}`, level(i)]))
    const content = { 'application/json': { schema: { $ref: '#/components/schemas/L0' } } }
    const paths = Object.fromEntries(
      Array.from({ length: 50 }, (_, i) => [
        `/${i}`,
        { post: { operationId: `deep${i}`, requestBody: { required: true, content } } },
      ]),
    )
    const last = { L30: { type: 'string' } }
    const { run } = await project({ ...around, paths, components: { schemas: { ...schemas, ...last } } })
    expect((await run('weather.json')).stdout).not.toContain('No tool')
    const { code, stderr } = await run('weather.json', '--all')
    expect(code).not.toBe(0)
    expect(stderr).toContain('deep49: What it takes is too large')
  })

  it('stops between two operations when asked to', async () => {
    const { dir } = await project()
    const controller = new AbortController()
    controller.abort(new Error('stopped'))
    const options = { from: dir, source: 'weather.json', operations: [], isAll: false, isForced: false, isDryRun: true }
    const importing = importApi(options, {
      clock: createSystemClock(),
      signal: controller.signal,
      tools: async () => [],
    })
    await expect(importing).rejects.toThrow('stopped')
  })

  it('says of every tool which secrets it sends where, and takes over none that is there', async () => {
    const { run, front, write, path } = await project()
    const first = await run('weather.json', 'getWeather')
    const sends = 'Sends the secret "CITY_WEATHER_KEY_AUTH" to eu.api.example.com: the key for the header "X-Api-Key"'
    expect(first.stdout).toContain(sends)
    await write('.quartermaster/secrets.json', JSON.stringify({ CITY_WEATHER_KEY_AUTH: 'k', MINE: 'm' }))
    await chmod(path('.quartermaster/secrets.json'), 0o600)
    expect((await run('weather.json', 'getWeather')).stdout).toContain('there already')
    const taken = await run('weather.json', 'getWeather', 'addCity')
    expect(taken.code).not.toBe(0)
    expect(taken.stderr).toContain('"CITY_WEATHER_KEY_AUTH" is a secret that is there already')
    expect(taken.stderr).toContain('--secret keyAuth=CITY_WEATHER_KEY_AUTH')
    expect(await readdir(path('knowledge/city_weather'))).toEqual(['get_weather.md'])
    const named = await run('weather.json', 'addCity', '--secret', 'keyAuth=MINE')
    expect(named.stdout).toContain('Sends the secret "MINE" to eu.api.example.com')
    expect(await front('city_weather/add_city')).toMatchObject({
      with: { headers: { 'X-Api-Key': '${secret:MINE}' } },
    })
    expect((await run('weather.json', 'addCity', '--secret', 'keyAut=MINE')).stderr).toContain('Did you mean "keyAuth"')
    expect((await run('weather.json', 'addCity', '--secret', 'MINE')).stderr).toContain('SCHEME=NAME')
  })

  it('makes tools that are right, whatever names a document uses', async () => {
    const { run, front, path } = await project({
      ...around,
      paths: {
        '/index': { get: { operationId: 'index', summary: 'List all.' } },
        '/at/${where}': {
          put: {
            operationId: 'put',
            parameters: [{ name: 'where', in: 'path', required: true, schema: { type: 'string' } }],
            requestBody: {
              content: {
                'application/json': {
                  schema: { type: 'object', properties: { constructor: { type: 'string' }, __proto__x: {} } },
                },
              },
            },
          },
        },
      },
    })
    expect(await run('weather.json', '--all')).toMatchObject({ code: 0 })
    expect(await readdir(path('knowledge/odd'))).toEqual(['get_index.md', 'put.md'])
    const put = await front('odd/put')
    expect(put.with).toMatchObject({
      url: 'https://odd.example.com/at/%24{where}',
      body: { json: { constructor: '{the_constructor}' } },
    })
    expect((await httpFixture(put)).problems()).toEqual([])
  })

  it('takes no name that another tool has, and adds to no capability that is programmed', async () => {
    const present = (name: string, capability: string, source: string): ToolSummary => {
      const texts = { name, title: name, short: name, section: capability, capability, source }
      return { ...texts, state: 'active', recovering: false, missing: [] }
    }
    const tools = [
      present('get_weather', 'sky', 'capabilities/sky.ts'),
      present('add_city', 'city_weather', 'knowledge/city_weather/add_city.md'),
    ]
    const { run, front, write } = await project(DOCUMENT, tools)
    await write('knowledge/city_weather/add_city.md', 'mine')
    const { code, stdout } = await run('weather.json', 'GET /cities/{city}/weather', 'addCity', '--force')
    expect(code).toBe(0)
    expect(stdout).toContain('"get_weather" is another tool; this one is "city_weather_get_weather".')
    expect(stdout).toMatch(/add_city: .* written over/)
    expect(await front('city_weather/city_weather_get_weather')).toMatchObject({ short: 'The weather of a city.' })
    const added = await run('weather.json', 'getWeather', '--capability', 'sky', '--dry-run')
    expect(added.stderr).toContain('The capability "sky" is there already (capabilities/sky.ts)')
  })

  it('writes nothing that would be wrong as a tool, and says what is', async () => {
    const secured = (name: string) => ({ type: 'apiKey', in: 'header', name })
    const { run, path } = await project({
      ...around,
      paths: {
        '/a': { get: { operationId: 'host', security: [{ host: [] }] } },
        '/b': { get: { operationId: 'spaced', security: [{ spaced: [] }] } },
        '/c': { get: { operationId: 'fine' } },
      },
      components: { securitySchemes: { host: secured('Host'), spaced: secured('X Key') } },
    })
    const { code, stderr } = await run('weather.json', 'host', 'spaced', 'fine')
    expect(code).not.toBe(0)
    expect(stderr).toMatch(/host: It wants its key in the header "Host", which is set by itself/)
    expect(stderr).toMatch(/spaced: .*must be the name of a header/)
    await expect(readdir(path('knowledge'))).rejects.toThrow('ENOENT')
    const all = await run('weather.json', '--all')
    expect(all).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/host: no tool[^]*spaced: no tool[^]*1 tool of/),
    })
    expect(await readdir(path('knowledge/odd'))).toEqual(['fine.md'])
  })

  it('reads YAML, and documents of a server', async () => {
    const yaml = 'openapi: 3.1.0\ninfo: {title: Tiny}\npaths:\n  /a:\n    get: {summary: One thing}\n'
    const site = await testSite(
      (_, response) => void response.writeHead(200, { 'content-type': 'text/yaml' }).end(yaml),
    )
    const { run, front } = await project()
    expect((await run(`${site.origin}/openapi.yaml`, '--all', '--json')).stdout).toContain('"tool":"get_a"')
    const { with: settings } = await front('tiny/get_a')
    // Where the document was is no word of the owner about where its tools may go.
    expect(settings).toEqual({ method: 'GET', url: `${site.origin}/a` })
  })

  it.each([
    [{ swagger: '2.0' }, 'Swagger 2'],
    [{ openapi: '4.0.0' }, 'OpenAPI 4.0.0'],
    [{ openapi: '3.1.0' }, 'describes no paths'],
    ['a: [', 'neither JSON nor YAML'],
    [`a: ${'['.repeat(20_000)}`, 'nested deeper than can be read'],
  ])('says what %.20j is instead of a document', async (document, says) => {
    const { run } = await project(document)
    const { code, stderr } = await run('weather.json')
    expect(code).not.toBe(0)
    expect(stderr).toContain(says)
  })

  it('says which operation was probably meant', async () => {
    const { run } = await project()
    expect((await run('weather.json', 'getWether')).stderr).toContain('Did you mean "getWeather"?')
  })
})
