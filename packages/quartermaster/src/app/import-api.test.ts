import { readdir } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { runCli } from '../adapters/cli/index.ts'
import { createSystemClock } from '../adapters/system/index.ts'
import { createFakeCliHost } from '../testing/cli-host.ts'
import { httpDesk, sendJson, testSite } from '../testing/op-desk.ts'
import { tempProject } from '../testing/temp-project.ts'
import { importApi } from './import-api.ts'

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
async function project(document: unknown = DOCUMENT) {
  const made = await tempProject({ 'quartermaster.config.json': {}, 'weather.json': document })
  const run = async (...words: string[]) => {
    const fake = createFakeCliHost({
      host: {
        importApi: options =>
          importApi(
            { from: made.dir, ...options },
            { clock: createSystemClock(), signal: new AbortController().signal },
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
    const get = await httpDesk(await front('city_weather/get_weather'))
    expect(get.problems()).toEqual([])
    expect((await get.call({ city: 'Bern', tags: ['a', 'b'] })).data.url).toBe(
      '/v2/cities/Bern/weather?tags%5B%5D=a&tags%5B%5D=b',
    )
    const add = await httpDesk(await front('city_weather/add_city'))
    expect(add.problems()).toEqual([])
    const { data } = await add.call({ name: 'Bern', near: [{ name: 'Thun', near: [] }] })
    expect(JSON.parse(String(data.body))).toEqual({ name: 'Bern', near: [{ name: 'Thun', near: [] }] })
  })

  it('writes all or nothing, and never over what somebody has edited', async () => {
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
  ])('says what %j is instead of a document', async (document, says) => {
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
