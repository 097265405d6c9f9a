import { resolve } from 'node:path'
import type { OpFault, OpUse, Paths } from '../../core/catalogue/index.ts'
import { didYouMean } from '../../core/kernel/index.ts'
import { contains } from '../shared/requested-path.ts'
import { declaredIn, parseTemplate, type TemplatePlace, templateFaults } from '../shared/template.ts'
import { codeFaults } from './code-faults.ts'
import type { ProgramSettings } from './settings.ts'

const SEEN = 'has a secret, which may be in "env" only: everybody on this machine can read arguments'
const NOT_ENV = 'has a parameter, which may be in "args" and "stdin" only'

/** Every template of a declaration, and what may be in each. */
export function placesIn({ args, env, stdin }: ProgramSettings): TemplatePlace[] {
  return [
    ...args.flatMap((given, i) => textsOf(given).map(text => argument(text, `with.args.${i}`))),
    ...Object.entries(env).map(([name, text]) => ({ field: `with.env.${name}`, text, noParameters: NOT_ENV })),
    ...(stdin === undefined
      ? []
      : [{ field: 'with.stdin', text: stdin, noSecrets: 'has a secret, which may be in "env" only' }]),
  ]
}

const argument = (text: string, field: string): TemplatePlace => ({ field, text, noSecrets: SEEN, takesSpread: true })

export function textsOf(given: ProgramSettings['args'][number]): readonly string[] {
  if (typeof given === 'string') return [given]
  return Array.isArray(given) ? given : given.args
}

/** What is wrong with a declaration of a program. */
export function programFaults({ settings, parameters }: OpUse<ProgramSettings>): OpFault[] {
  const declared = declaredIn(parameters)
  const switches = settings.args.flatMap((given, i) =>
    typeof given === 'object' && 'when' in given ? [{ field: `with.args.${i}.when`, name: given.when }] : [],
  )
  const named = [...switches, ...settings.notPaths.map((name, i) => ({ field: `with.notPaths.${i}`, name }))]
  return [
    ...templateFaults(
      placesIn(settings),
      declared,
      switches.map(({ name }) => name),
    ),
    ...named
      .filter(({ name }) => !declared.names.includes(name))
      .map(({ field, name }) => ({
        field,
        message: `is "${name}", which is none of the parameters.${didYouMean(name, declared.names)}`,
      })),
    ...settings.args.flatMap((given, i) => textsOf(given).flatMap(text => spreadFaults(text, `with.args.${i}`))),
    ...codeFaults(settings, declared),
  ]
}

/** What can be seen before a call of where a program would run. What links lead to is seen then. */
export function folderFaults({ cwd }: ProgramSettings, { projectDir, dataDir }: Paths): OpFault[] {
  const folder = resolve(projectDir, cwd)
  const fault = (message: string): OpFault[] => [{ field: 'with.cwd', message }]
  if (!contains(projectDir, folder, process.platform))
    return fault('is not in the project folder; name a folder that is')
  if (contains(dataDir, folder, process.platform))
    return fault('belongs to the data folder, which no tool may reach; name another folder')
  return []
}

function spreadFaults(text: string, field: string): OpFault[] {
  const { parts } = parseTemplate(text)
  const isMixed = parts.length > 1 && parts.some(part => part.kind === 'parameter' && part.isSpread)
  return isMixed ? [{ field, message: 'has a "{name...}" among other words; it must be an argument by itself' }] : []
}
