// @ts-check
// Stands in for npm: links the real compilers, puts stand-ins for the other tools beside it and needs no network.
import { appendFileSync, cpSync, existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const REAL_MODULES = fileURLToPath(new URL('../../node_modules', import.meta.url))
const TOOL = fileURLToPath(new URL('tool.mjs', import.meta.url))

appendFileSync('calls.log', `npm ${process.argv.slice(2).join(' ')}\n`)
if (process.env.NPM === 'fails') {
  console.error('npm error: the registry is closed on Sundays')
  process.exit(7)
}
rmSync('node_modules', { recursive: true, force: true })
mkdirSync('node_modules')
if (process.env.NPM === 'hangs') setInterval(() => {}, 1_000)
else if (process.env.NPM === 'waits') installWhenTold()
else install()

function installWhenTold() {
  mkdirSync('node_modules/first')
  writeFileSync('node_modules/first/package.json', '{}')
  appendFileSync('calls.log', 'first\n')
  setInterval(() => existsSync('go') && process.exit(), 20)
}

function install() {
  for (const name of ['typescript', 'esbuild', 'rolldown', 'rolldown-plugin-dts'])
    symlinkSync(join(REAL_MODULES, name), join('node_modules', name), 'junction')
  for (const [folder, name] of /** @type {const} */ ([
    ['@biomejs/biome', 'biome'],
    ['oxlint', 'oxlint'],
    ['vitest', 'vitest'],
  ])) {
    mkdirSync(join('node_modules', folder), { recursive: true })
    writeFileSync(join('node_modules', folder, 'package.json'), JSON.stringify({ bin: { [name]: `${name}.mjs` } }))
    writeFileSync(join('node_modules', folder, `${name}.mjs`), `import ${JSON.stringify(TOOL)}`)
  }
  // npm writes down what it installed.
  cpSync('package-lock.json', 'node_modules/.package-lock.json')
}
