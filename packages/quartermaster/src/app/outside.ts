import { locatedProgram } from '../adapters/mcp-upstream/index.ts'
import { program } from '../adapters/probes/index.ts'
import type { ProgramDesk, WebDesk } from '../core/catalogue/index.ts'
import { type Clock, remembered } from '../core/kernel/index.ts'
import type { ProgramRunner } from './build-upstreams.ts'

/** What modules may reach outside of this process. */
export interface Outside {
  readonly web: WebDesk
  readonly programs: ProgramDesk
  /** Ends what is under way. */
  close(): Promise<void>
}

export interface OutsideDeps {
  readonly clock: Clock
  readonly runner: ProgramRunner
  readonly projectDir: string
}

export function createOutside({ clock, runner, projectDir }: OutsideDeps): Outside {
  let isUsed = false
  // Most projects have no tool that asks a server, so that its code is loaded with the first request.
  const desk = remembered(async () => (await import('../adapters/http-client/index.ts')).createWebDesk({ clock }))
  return {
    web: {
      async send(request) {
        isUsed = true
        return (await desk()).send(request)
      },
    },
    programs: {
      run: runner.run,
      probe: name => program({ command: locatedProgram(name, projectDir) }),
    },
    async close() {
      await runner.close()
      if (isUsed) (await desk()).close()
    },
  }
}
