import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createQuartermaster, openToolbox, type Toolbox } from 'quartermaster'
import { startProduct } from '../support/running-product.ts'

const DESK = fileURLToPath(new URL('../desk', import.meta.url))

/** The clerk's tools, open for a whole file of tests. */
export interface OpenDesk {
  readonly toolbox: Toolbox
  close(): Promise<void>
}

/** Where the tools of an agent may be. */
export const PLACES: Readonly<Record<string, () => Promise<OpenDesk>>> = {
  'in this process': inProcess,
  'behind a running up': behindUp,
}

async function inProcess(): Promise<OpenDesk> {
  const dir = await mkdtemp(join(tmpdir(), 'desk-'))
  await cp(DESK, dir, { recursive: true })
  const host = await createQuartermaster({ dir, env: {} })
  return {
    toolbox: host.toolbox('clerk'),
    async close() {
      await host.stop()
      await rm(dir, { recursive: true, force: true })
    },
  }
}

async function behindUp(): Promise<OpenDesk> {
  const product = await startProduct(DESK)
  const { token } = await product.issue('clerk')
  const toolbox = await openToolbox({ url: product.mcpUrl, token })
  return {
    toolbox,
    async close() {
      await toolbox.close()
      await product.stop()
    },
  }
}
