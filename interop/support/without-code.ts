import { cp, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type RunningProduct, startProduct } from './running-product.ts'

const EXAMPLE = fileURLToPath(new URL('../../examples/no-code', import.meta.url))
const WEATHER = 'knowledge/weather/get_weather.md'
const KEY = 'k-1234567890'

/** The example of two tools that are two Markdown files, at work, with a weather service on this machine. */
export interface WithoutCode {
  readonly product: RunningProduct
  /** What the service was asked for, and with which key. */
  readonly asked: readonly { readonly path: string; readonly key: string }[]
  /** Gives the file of the weather tool another name; without one of its own the tool is called by that. */
  rename(tool: string): Promise<void>
  stop(): Promise<void>
}

export async function startWithoutCode(): Promise<WithoutCode> {
  const asked: { path: string; key: string }[] = []
  const service = createServer(({ url, headers }, response) => {
    asked.push({ path: url ?? '', key: headers.authorization ?? '' })
    response.setHeader('content-type', 'application/json').end('{"main":{"temp":12},"wind":{"speed":3}}')
  })
  await new Promise<void>(done => service.listen(0, '127.0.0.1', done))
  const folder = await mkdtemp(join(tmpdir(), 'no-code-'))
  await cp(EXAMPLE, folder, { recursive: true, filter: path => !path.endsWith('.quartermaster') })
  await mkdir(join(folder, '.quartermaster'), { mode: 0o700 })
  await writeFile(join(folder, '.quartermaster', 'secrets.json'), JSON.stringify({ WEATHER_KEY: KEY }), { mode: 0o600 })
  const text = await readFile(join(folder, WEATHER), 'utf8')
  const here = text
    .replace('https://api.example.com', `http://127.0.0.1:${(service.address() as AddressInfo).port}`)
    .replace('\n  response:', '\n  privateHosts: [127.0.0.1]\n  response:')
  await writeFile(join(folder, WEATHER), here)
  const product = await startProduct(folder)
  let file = WEATHER
  return {
    product,
    asked,
    async rename(tool) {
      const next = `knowledge/weather/${tool}.md`
      await rename(join(product.folder, file), join(product.folder, next))
      file = next
    },
    async stop() {
      await product.stop()
      service.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
