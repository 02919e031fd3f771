/// Shell completions, generated from the tables of commands.
struct Completions {
  private let commands: [Command]

  init(_ commands: [Command]) { self.commands = commands }

  // MARK: - bash

  /// The options allowed before, or instead of, a command.
  private static let beforeCommands =
    Command.common + [.flag("version", short: "V", VersionCommand.command.summary)]

  private static func names(_ option: Option) -> [String] {
    ["--\(option.name)"] + (option.short.map { ["-\($0)"] } ?? [])
  }

  private static func bash(_ command: Command) -> String {
    let options = command.options + Command.common
    let general = options.filter(\.acts.isEmpty).flatMap(names)
    let only = options.flatMap { option in option.acts.flatMap { act in names(option).map { "\(act):\($0)" } }
    }
    let values = options.filter { $0.value != nil }.flatMap(names)
    let files = options.filter(\.takesFile).flatMap(names)
    let choices = options.filter { !$0.choices.isEmpty }.flatMap { option in
      names(option).map { "\($0)=\(option.choices.joined(separator: ","))" }
    }
    return """
          \(command.name))
            options='\(general.joined(separator: " "))'
            only='\(only.joined(separator: " "))'
            values=' \(values.joined(separator: " ")) '
            files=' \(files.joined(separator: " ")) '
            choices='\(choices.joined(separator: " "))'
            acts='\(command.acts.map { $0.joined(separator: "/") }.joined(separator: " "))'
            ;;
      """
  }

  var bash: String {
    let general = Self.beforeCommands.flatMap(Self.names).joined(separator: " ")
    return """
      # bash completion for xcache
      _xcache() {
        local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} at=1
        local commands='\(commands.map(\.name).joined(separator: " "))'
        local options='' only='' values='' files='' choices='' acts='' said='' next='' item i
        COMPREPLY=()
        # What every command takes may stand before it.
        while ((at < COMP_CWORD)) && [[ ${COMP_WORDS[at]} == -* ]]; do ((at++)); done
        if ((at == COMP_CWORD)); then
          [[ $cur == -* ]] && commands='\(general)'
          COMPREPLY=($(compgen -W "$commands" -- "$cur"))
          return
        fi
        case ${COMP_WORDS[at]} in
          help)
            ((COMP_CWORD == at + 1)) && COMPREPLY=($(compgen -W "$commands" -- "$cur"))
            return
            ;;
      \(commands.filter { $0.name != "help" }.map(Self.bash).joined(separator: "\n"))
        esac
        # --option=value comes as three words.
        [[ $prev == = ]] && prev=${COMP_WORDS[COMP_CWORD - 2]}
        [[ $cur == = ]] && cur=''
        if [[ $values == *" $prev "* ]]; then
          for item in $choices; do
            [[ $item == "$prev="* ]] && next=${item#*=} && COMPREPLY=($(compgen -W "${next//,/ }" -- "$cur"))
          done
          local IFS=$'\n'
          if [[ $files == *" $prev "* ]]; then
            compopt -o filenames 2>/dev/null
            COMPREPLY=($(compgen -f -- "$cur"))
          fi
          return
        fi
        for ((i = at + 1; i < COMP_CWORD; i++)); do
          if [[ $values == *" ${COMP_WORDS[i]} "* ]]; then
            ((i++))
            [[ ${COMP_WORDS[i]} == = ]] && ((i++))
          elif [[ ${COMP_WORDS[i]} != -* ]]; then
            said+="${COMP_WORDS[i]}/"
          fi
        done
        if [[ $cur == -* ]]; then
          for item in $only; do
            [[ -z $said || ${item%%:*} == "${said%%/*}" ]] || continue
            [[ " $options " == *" ${item#*:} "* ]] || options+=" ${item#*:}"
          done
          COMPREPLY=($(compgen -W "$options" -- "$cur"))
          return
        fi
        for item in $acts; do
          [[ $item/ == "$said"* && $item/ != "$said" ]] || continue
          item=${item#"$said"}
          [[ " $next" == *" ${item%%/*} "* ]] || next+="${item%%/*} "
        done
        if [[ -n $next ]]; then COMPREPLY=($(compgen -W "$next" -- "$cur")); else
          local IFS=$'\n'
          compopt -o filenames 2>/dev/null
          COMPREPLY=($(compgen -f -- "$cur"))
        fi
      }
      complete -F _xcache xcache
      """
  }

  // MARK: - zsh

  private static func zsh(_ option: Option) -> [String] {
    names(option).map { name in
      let values =
        option.takesFile
        ? "_files" : option.choices.isEmpty ? "" : "(\(option.choices.joined(separator: " ")))"
      let value = option.value.map { ":\(zsh($0)):\(values)" } ?? ""
      return "'*\(name)[\(zsh(option.help))]\(value)'"
    }
  }

  private static func zsh(_ command: Command) -> String {
    let options = command.options + Command.common
    let first = command.acts.map { $0[0] }.reduce(into: [String]()) { if !$0.contains($1) { $0.append($1) } }
    let second = command.acts.filter { $0.count > 1 }.map { $0[1] }
    var words = options.filter(\.acts.isEmpty).flatMap { zsh($0) }
    if !first.isEmpty { words.append("'1:act:(\(first.joined(separator: " ")))'") }
    if !second.isEmpty { words.append("'2:act:(\(Set(second).sorted().joined(separator: " ")))'") }
    words.append("'*:file:_files'")
    // Without a subcommand, the options of each one may be meant.
    let only = ([""] + first).compactMap { act -> String? in
      let own = options.filter { act.isEmpty ? !$0.acts.isEmpty : $0.acts.contains(act) }.flatMap { zsh($0) }
      return own.isEmpty
        ? nil : "          \(act.isEmpty ? "''|-*" : act)) arguments+=(\(own.joined(separator: " "))) ;;"
    }
    let cases =
      only.isEmpty ? "" : "\n        case $words[2] in\n\(only.joined(separator: "\n"))\n        esac"
    return """
            \(command.name))
              arguments=(\(words.joined(separator: " ")))\(cases)
              ;;
      """
  }

  var zsh: String {
    let general = Self.beforeCommands.flatMap { Self.zsh($0) }
    let names = commands.map { "    '\(Self.zsh($0.name)):\(Self.zsh($0.summary))'" }
    return """
      #compdef xcache
      _xcache() {
        local -a commands arguments
        commands=(
      \(names.joined(separator: "\n"))
        )
        # What every command takes may stand before it.
        while ((CURRENT > 2)) && [[ $words[2] == -* ]]; do
          shift words
          ((CURRENT--))
        done
        if ((CURRENT == 2)); then
          if [[ $words[2] == -* ]]; then _arguments \(general.joined(separator: " ")); else _describe command commands; fi
          return
        fi
        local command=$words[2]
        shift words
        ((CURRENT--))
        case $command in
      \(commands.map { Self.zsh($0) }.joined(separator: "\n"))
        esac
        _arguments -s $arguments
      }
      _xcache "$@"
      """
  }

  private static func zsh(_ text: String) -> String {
    text.map { character in
      switch character {
      case "'": "'\\''"
      case "[", "]", ":", "\\": "\\\(character)"
      default: String(character)
      }
    }.joined()
  }

  // MARK: - fish

  var fish: String {
    var lines = ["# fish completion for xcache", "complete -c xcache -f"]
    for option in Self.beforeCommands {
      let short = option.short.map { " -s \($0)" } ?? ""
      lines.append(
        "complete -c xcache -n __fish_use_subcommand\(short) -l \(option.name) -d '\(Self.fish(option.help))'"
      )
    }
    for command in commands {
      lines.append(
        "complete -c xcache -n __fish_use_subcommand -a \(command.name) -d '\(Self.fish(command.summary))'")
      let seen = "__fish_seen_subcommand_from \(command.name)"
      let first = command.acts.map { $0[0] }.joined(separator: " ")
      for option in command.options + Command.common {
        let short = option.short.map { " -s \($0)" } ?? ""
        let choices = option.choices.isEmpty ? "" : " -a '\(option.choices.joined(separator: " "))'"
        let value = option.value == nil ? "" : option.takesFile ? " -r -F" : " -x\(choices)"
        let others = first.split(separator: " ").filter { !option.acts.contains(String($0)) }
        // Another subcommand excludes it; without one, each may be meant.
        let place =
          option.acts.isEmpty || others.isEmpty
          ? "" : "; and not __fish_seen_subcommand_from \(others.joined(separator: " "))"
        lines.append(
          "complete -c xcache -n '\(seen)\(place)'\(short) -l \(option.name)\(value) -d '\(Self.fish(option.help))'"
        )
      }
      for act in command.acts {
        let before =
          act.count == 1
          ? "; and not __fish_seen_subcommand_from \(first)"
          : act.dropLast().map { "; and __fish_seen_subcommand_from \($0)" }.joined()
        lines.append("complete -c xcache -n '\(seen)\(before)' -a \(act[act.count - 1])")
      }
      if command.acts.isEmpty, command.takesFiles { lines.append("complete -c xcache -n '\(seen)' -F") }
    }
    return lines.joined(separator: "\n")
  }

  private static func fish(_ text: String) -> String {
    text.map { $0 == "'" || $0 == "\\" ? "\\\($0)" : String($0) }.joined()
  }
}

extension Option {
  /// Whether its value is a path.
  fileprivate var takesFile: Bool { value.map { $0.hasPrefix("FILE") || $0.hasPrefix("DIR") } ?? false }
}
