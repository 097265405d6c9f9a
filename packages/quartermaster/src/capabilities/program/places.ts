import { basename } from 'node:path'
import type { OpFault, OpUse } from '../../core/catalogue/index.ts'
import { didYouMean } from '../../core/kernel/index.ts'
import { declaredIn, parseTemplate, type TemplatePlace, templateFaults } from '../shared/template.ts'
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
    ...codeFaults(settings),
  ]
}

function spreadFaults(text: string, field: string): OpFault[] {
  const { parts } = parseTemplate(text)
  const isMixed = parts.length > 1 && parts.some(part => part.kind === 'parameter' && part.isSpread)
  return isMixed ? [{ field, message: 'has a "{name...}" among other words; it must be an argument by itself' }] : []
}

const INTERPRETERS =
  /^(?:python|pypy|node|nodejs|bun|deno|perl|ruby|php|lua|luajit|Rscript|osascript|tclsh)[\d.]*(?:\.exe)?$/i
const CODE_OPTION = /^(?:-[ceErpm]|-pe|-ne|--eval|--print|--run|eval)$/
/** With the code in the same argument. */
const CODE_INSIDE = /^(?:-[ceErp]|--eval=|--print=|--run=)/

/** A value in a text that is code would be code as well: a shell by another name. */
function codeFaults({ program, args }: ProgramSettings): OpFault[] {
  if (!INTERPRETERS.test(basename(program.replaceAll('\\', '/')))) return []
  const all = args.flatMap((given, i) => textsOf(given).map(text => ({ text, field: `with.args.${i}` })))
  return all.flatMap(({ text, field }, i) => {
    const isCode = CODE_OPTION.test(all[i - 1]?.text ?? '') || CODE_INSIDE.test(text)
    const found = parseTemplate(text).parts.find(part => part.kind === 'parameter')
    if (!isCode || !found) return []
    const mend = 'put the code into a file of its own, and the value into an argument for it'
    return [{ field, message: `has "{${found.name}}" in what "${program}" takes for code; ${mend}` }]
  })
}
