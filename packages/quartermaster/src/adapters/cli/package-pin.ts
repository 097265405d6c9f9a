import { isFilledIn, type PackageRun, packageRunsOf, type Unpinned } from '../../core/kernel/index.ts'

/** Programs that run packages and that a command names, in a way in which nobody can say which packages. */
export function findUnread(command: string, args: readonly string[]): string[] {
  const named = [command, ...args].flatMap(word => [...word.matchAll(PACKAGE_PROGRAM)].map(([program]) => program))
  const read = new Set(packageRunsOf(command, args).map(({ program }) => program))
  return [...new Set(named)].filter(program => !read.has(program))
}

const PACKAGE_PROGRAM = /(?<![\w.@-])(?:npx|bunx|pnpx|uvx)(?![\w/@=-]|\.(?!cmd|exe|ps1|$))/g

/** What to tell whoever adds such a command. */
export function unpinnedWarning({ runner, wanted, package: name, place }: Unpinned): string {
  const how = {
    npm: `${name}@VERSION${place ? ', or --pin for the present one' : ' by hand'}`,
    uv: `${name}==VERSION`,
    pipx: `${name}==VERSION`,
    deno: `${name}@VERSION`,
    docker: `${name}:TAG or ${name}@sha256:…`,
  } as const satisfies Record<PackageRun['runner'], string>
  if (isFilledIn(wanted))
    return `What "${wanted}" stands for may have no exact version, so every start may run another program than the one you looked at. Write name and version by hand.`
  const what = wanted === name ? `"${name}" has no version` : `"${wanted}" is no exact version`
  return `${what}, so every start may run another program than the one you looked at. Write ${how[runner]}.`
}

export function unreadWarning(program: string): string {
  return `Which packages "${program}" runs here cannot be told. Look whether each of them has an exact version.`
}
